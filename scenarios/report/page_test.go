package report

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"

	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/minimise"
	"github.com/volnode/volnode/scenarios/mutants"
	"github.com/volnode/volnode/scenarios/verdict"
	"github.com/volnode/volnode/scenarios/world"
)

// evil is what must nowhere be taken for more than text.
const evil = `</script><script>window.taken=1</script>"><img src=x onerror="window.taken=2">'{{.}}`

// example is what a hunt of a faulty engine comes to.
func example() Results {
	const second = hal.Instant(time.Second)
	rung := func(believed, truth, holder string) []world.RungFrame {
		return []world.RungFrame{
			{
				Key: "csi.publish/disk.example^vol-a/00000001-0000-4000-8000-000000000000", Name: "vol-a@web",
				Believed: "Absent", True: "down", Wanted: true,
			},
			{
				Key: "csi.stage/disk.example^vol-a", Name: "vol-a", Believed: believed, True: truth, Wanted: true,
				Holder: holder,
			},
		}
	}
	f := &minimise.Finding{
		Schema: minimise.FindingSchema, Property: "S8", Signature: "S8 forgotten",
		Sentence: "A late stage is forgotten " + evil, Seed: 9,
		Subject: "vol-a",
		Violation: &verdict.Violation{
			Property: "S8", Site: "forgotten", Object: "csi.stage/disk.example^vol-a", Story: "it is up " + evil,
			At: 190 * second,
		},
		Choices: []minimise.Necessity{
			{ID: "csi.stage@vol-a#0", Text: "the stage is late " + evil, Needed: true, Without: "passes"},
			{ID: "workload.pod@web#0", Text: "web is deleted", Needed: true, Without: "L1 left"},
			{ID: "workload.pod@db#0", Text: "db is deleted", Without: "S8 forgotten"},
		},
		Total: 40, Runs: 17, Equal: 3, Command: "volsim replay --keep 'a=1," + evil + "'",
		Lines: []minimise.Line{
			{Number: 1, Lane: "node", Sign: ".", Event: "node booted " + evil},
			{Number: 2, Lane: "api", Sign: ".", Event: "pod web is applied"},
			{Number: 3, At: second, Lane: "vol-a", Sign: ">", Event: "#1 stage is called"},
			{Number: 4, At: second, Lane: "vol-a", Sign: "!", Event: "fault at csi.stage: late", Cause: 3},
			{Number: 5, At: 121 * second, Lane: "vol-a", Sign: "<", Event: "#1 stage: unknown", Cause: 3},
			{Number: 6, At: 190 * second, Lane: "vol-a", Sign: "*", Event: "#1 stage acts", Cause: 3},
		},
	}
	for _, l := range f.Lines {
		frame := minimise.Frame{At: l.At, Line: l.Number, Rungs: rung("Unknown", "down", "NodeStageVolume may act")}
		switch {
		case l.Number < 3:
			frame.Rungs = rung("Absent", "down", "")
		case l.Number == 4:
			frame.Rungs = rung("Absent", "down", "NodeStageVolume may act")
		case l.Number == 6:
			frame.Rungs = rung("Absent", "up", evil)
		}
		f.Frames = append(f.Frames, frame)
	}
	tally := fleet.Tally{CPU: time.Minute, Elapsed: 30 * time.Second}
	tally.Schedules, tally.Events, tally.Faults = 12345, 1e7, 22222
	return Results{
		Title: "Hunt " + evil, Command: "volsim hunt --seed 1 " + evil, Commit: "abc", Tally: &tally,
		Families: map[string]uint64{"swarm": 12345},
		Curve: []fleet.Growth{
			{Schedules: 1, Tuples: 40},
			{Schedules: 10, Tuples: 200},
			{Schedules: 100, Tuples: 400},
			{Schedules: 771, Tuples: 473},
		},
		Stories: []Story{
			{Name: "a_story", Title: evil},
			{Name: "another", Broken: "S8 x", Stale: []string{"line 3: " + evil}},
		},
		Mutants: []mutants.Outcome{
			{Name: "a law " + evil, Law: "S5", Killed: true, Seeds: 7, CPU: time.Second, Property: "S5"},
			{Name: "other", Law: "L1"},
		},
		Failures: []Failure{{Seed: 9, Violation: f.Violation, Finding: f}, {Seed: 12, Violation: f.Violation}},
	}
}

func write(t *testing.T, r Results) (path, text string) {
	var out bytes.Buffer
	require.NoError(t, r.WritePage(&out))
	path = filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path, out.String()
}

func TestPageNeedsNothingButItself(t *testing.T) {
	_, text := write(t, example())
	require.NotContains(t, text, "<script>window")
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, "ZgotmplZ")
	require.Equal(t, 2, strings.Count(text, "</script>"), "one for the code, one for the frames of the one card")
	for _, m := range regexp.MustCompile(`(?:src|href|action|url)\s*[=(]\s*["']?([^"')\s>]*)`).FindAllStringSubmatch(
		text, -1) {
		// x is of what is planted
		require.True(t, strings.HasPrefix(m[1], "#") || m[1] == "x", "%s is somewhere else", m[0])
	}
	require.NotRegexp(t, `https?://|@import`, text)
}

func TestLanesAreOfPodsVolumesDriversAndTheNode(t *testing.T) {
	f := example().Failures[0].Finding
	f.Lines = append(f.Lines,
		minimise.Line{Number: 7, Lane: "vol-a@web", Sign: ">", Event: "#2 publish is called"},
		minimise.Line{Number: 8, Lane: "web/scratch", Sign: "!", Event: "the mkdir of web/scratch fails"},
		minimise.Line{Number: 9, Lane: "disk.example", Sign: ".", Event: "down"},
		minimise.Line{Number: 10, Lane: "journal/journal.1", Sign: "!", Event: "the fsync fails"},
		minimise.Line{Number: 11, Lane: "api", Sign: ".", Event: "pv pv-a is applied", Cause: 9})
	p := draw(f)
	var lanes []string
	for _, l := range p.Lanes {
		lanes = append(lanes, l.Kind+" "+l.Name)
	}
	require.Equal(t, []string{
		"pod web", "volume vol-a", "driver disk.example", "cluster API objects",
		"node agent's files", "node node",
	}, lanes)
	require.Len(t, p.Marks, len(f.Lines)+1)
	require.Len(t, p.Arrows, 4)
	require.Equal(t, p.Lanes[0].Y, p.Marks[6].Y)
	require.Equal(t, p.Lanes[0].Y, p.Marks[7].Y)
	require.Equal(t, p.Lanes[1].Y, p.Marks[len(p.Marks)-1].Y, "the violation is of the volume")
}

func TestCurve(t *testing.T) {
	require.Nil(t, newCurve(nil))
	c := newCurve(example().Curve)
	require.Equal(t, [][2]int{{c.Left, 216}, {350, 158}}, c.Points[:2])
	require.Equal(t, c.Right, c.Points[3][0])
	var ticks []string
	for _, tick := range append(c.Xs, c.Ys...) {
		ticks = append(ticks, tick.Text)
	}
	require.Equal(t, []string{"1", "10", "100", "0", "200", "400", "600"}, ticks)
}

func TestPageWithoutFailures(t *testing.T) {
	r := example()
	r.Failures, r.Mutants, r.Stories, r.Curve = nil, nil, nil, nil
	_, text := write(t, r)
	require.Contains(t, text, "Every property holds")
	require.NotContains(t, text, "<article")
	require.NotContains(t, text, "<table")
}

func TestPageInABrowser(t *testing.T) {
	b := openBrowser(t)
	path, _ := write(t, example())
	b.open(path)
	var taken bool
	b.eval(`"taken" in window`, &taken)
	require.False(t, taken)
	require.Equal(t, "A late stage is forgotten "+evil, b.text(".story"))

	// The slider shows belief beside truth.
	const slider = "#finding-1 input[type=range]"
	require.Contains(t, b.text("output"), "line 6, 190.000000 s: #1 stage acts")
	require.Equal(t, "vol-a\tyes\tAbsent ≠\tup\t"+evil, b.text(".beliefs tr.differs"))
	b.press(slider, "ArrowLeft", 37, "")
	require.Contains(t, b.text("output"), "line 5, 121.000000 s: #1 stage: unknown")
	require.Contains(t, b.text(".beliefs tbody"), "vol-a\tyes\tUnknown\tdown\tNodeStageVolume may act")
	require.Contains(t, b.text("tr.now"), "#1 stage: unknown")
	var differing int
	b.eval(`document.querySelectorAll("tr.differs").length`, &differing)
	require.Zero(t, differing, "who does not know is not wrong")
	b.press(slider, "ArrowLeft", 37, "")
	require.Equal(t, "vol-a\tyes\tAbsent ≠\tdown\tNodeStageVolume may act", b.text(".beliefs tr.differs"),
		"it is down, and will not stay so")
	b.press(slider, "Home", 36, "")
	require.Contains(t, b.text("output"), "line 1, 0.000000 s: node booted "+evil)
	var later int
	b.eval(`document.querySelectorAll("g.mark.later").length`, &later)
	require.Equal(t, 5, later)
	b.eval(`document.querySelectorAll("tr.differs").length`, &differing)
	require.Zero(t, differing)
	var cursor string
	b.eval(`document.querySelector(".cursor").getAttribute("transform")`, &cursor)
	require.Equal(t, "translate(0 0)", cursor)

	// The toggles show what happens without a choice, one at a time.
	choice := func(i string) string { return "#finding-1 .choices li:nth-child(" + i + ") input" }
	for i, says := range []string{
		"Without it: the run passes.", "Without it: breaks L1 left instead.",
		"Without it: still breaks S8 forgotten.",
	} {
		b.press(choice(strconv.Itoa(i+1)), " ", 32, " ")
		require.Equal(t, says, b.text(".outcome"))
		var off int
		b.eval(`document.querySelectorAll(".choices input:not(:checked)").length`, &off)
		require.Equal(t, 1, off)
	}
	b.press(choice("1"), " ", 32, " ")
	b.press(choice("1"), " ", 32, " ")
	require.Equal(t, "With all of them: breaks S8 forgotten.", b.text(".outcome"))

	// The command is copied.
	b.call("Browser.grantPermissions",
		map[string]any{"permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}, nil)
	b.press("#finding-1 .copy", "Enter", 13, "\r")
	var copied string
	b.eval(`new Promise((done) => {
		const button = document.querySelector("#finding-1 .copy");
		const watch = new MutationObserver(() => done(button.textContent));
		watch.observe(button, {childList: true});
		if (button.textContent !== "Copy") done(button.textContent);
	})`, &copied)
	require.Equal(t, "Copied", copied)
}

// contrasts is each text of the page whose contrast with what is behind it is less than WCAG 2's level AA asks for.
const contrasts = `(() => {
	const parts = (c) => c.match(/[\d.]+/g).map(Number);
	const light = (c) => {
		const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 });
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => {
		const layers = [];
		for (; e; e = e.parentElement) layers.push(parts(getComputedStyle(e).backgroundColor));
		return layers.reverse().reduce((under, c) => {
			const a = c.length > 3 ? c[3] : 1;
			return under.map((v, i) => v * (1 - a) + c[i] * a);
		}, [255, 255, 255]);
	};
	const bad = [];
	for (const e of document.body.querySelectorAll("*")) {
		const hasText = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
		if (e.closest("svg") || !hasText || !e.getClientRects().length) continue;
		const a = light(parts(getComputedStyle(e).color)), b = light(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) bad.push(e.tagName + "." + e.className + " " + ratio.toFixed(2));
	}
	return bad;
})()`

func TestPageCanBeRead(t *testing.T) {
	b := openBrowser(t)
	path, _ := write(t, example())
	backs := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.call("Emulation.setEmulatedMedia",
			map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		b.open(path)
		var low []string
		b.eval(contrasts, &low)
		require.Empty(t, low, scheme)
		var back string
		b.eval(`getComputedStyle(document.body).backgroundColor`, &back)
		backs[back] = true
	}
	require.Len(t, backs, 2, "dark is another page than light")
	var nameless []string
	b.eval(`[...document.querySelectorAll("input, button")]
		.filter((e) => !(e.labels && e.labels.length) && !e.textContent.trim()).map((e) => e.outerHTML)`, &nameless)
	require.Empty(t, nameless)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": 400, "height": 800, "deviceScaleFactor": 1,
		"mobile": false,
	}, nil)
	var wide bool
	b.eval(`document.documentElement.scrollWidth > 400`, &wide)
	require.False(t, wide, "a narrow window needs no scrolling sideways, but in tables")
}

func TestJUnit(t *testing.T) {
	r := example()
	r.Failures = append(r.Failures, Failure{Scenario: "another", Violation: r.Failures[0].Violation})
	var out bytes.Buffer
	require.NoError(t, r.WriteJUnit(&out))
	var read junitSuites
	require.NoError(t, xml.Unmarshal(out.Bytes(), &read))
	require.Equal(t, "Hunt "+evil, read.Name)
	require.Len(t, read.Suites, len(fleet.Families)+3)
	tests, failures := 0, map[string]string{}
	for _, s := range read.Suites {
		require.Len(t, s.Cases, s.Tests)
		tests += s.Tests
		for _, c := range s.Cases {
			require.Equal(t, s.Name, c.Class)
			if c.Failure != nil {
				failures[c.Class+" "+strings.SplitN(c.Name, ":", 2)[0]] = c.Failure.Text
			}
			if s.Name == "hunt.storm" {
				require.NotNil(t, c.Skipped)
			}
		}
	}
	require.Equal(t, tests, read.Tests)
	require.Equal(t, len(failures), read.Failures)
	require.Len(t, failures, 4)
	require.Contains(t, failures["hunt.swarm S8"], "* #1 stage acts")
	require.Contains(t, failures["hunt.swarm S8"], "replay: volsim replay --seed 12\n", "both seeds")
	kept := []cases.Kept{{ID: sim.NewID("a.b", "c", 0), Value: 1}}
	varied := Failure{Seed: 359, Violation: r.Failures[0].Violation, Case: &cases.Case{Still: true, Keep: kept}}
	require.Contains(t, varied.text(), "replay: volsim replay --keep 'a.b@c#0=1'\n",
		"a schedule that was varied is no seed's")
	require.Contains(t, failures, "scenario.another S8")
	require.Contains(t, failures, "scenario.another its faults are met")
	require.Contains(t, failures, "mutants other")
}
