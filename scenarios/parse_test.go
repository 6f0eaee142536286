package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/internal/wording"
	"github.com/volnode/volnode/scenarios/lang"
)

func TestBadScenariosAreRefusedWithTheirLine(t *testing.T) {
	pod := "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
	for text, want := range map[string]string{
		"":                                     "s.txt:1: the scenario says nothing of itself",
		"# a\n":                                "s.txt:1: nothing happens",
		"# a\nnonsense":                        `s.txt:2: "nonsense" begins no statement`,
		"# a\nat soon apply all":               `s.txt:2: "soon" is not a time`,
		"# a\nat 0s fly":                       `s.txt:2: "fly" is nothing that can happen`,
		"# a\nat 0s fly away":                  `s.txt:2: "fly away" is nothing that can happen`,
		"# a\nat 0s aply all":                  "did you mean: apply all?",
		"# a\nat 0s expect pod p/web Ready":    "did you mean: expect pod POD ready?",
		"# a\nwithin 1s apply all":             "s.txt:2: only an expectation has time",
		"# a\ndriver d quick\nat 0s apply all": `s.txt:2: "quick" is no trait`,
		"# a\nfault csi.stage hmm": `s.txt:2: "hmm" is no kind of fault; at csi.stage there can be: slow, ` +
			"takes TIME",
		"# a\nfault csi.stage late soon":       `s.txt:2: "soon" is not how long`,
		"# a\nfault csi.stage all done OK":     "s.txt:2: \"OK\" is not a status",
		"# a\nat 0s expect log \"open":         "s.txt:2: the quotation mark is not closed",
		"# a\nvolume v":                        "s.txt:2: write volume NAME of DRIVER",
		"# a\nvolume v of d big":               `s.txt:2: "big" is no trait of a volume`,
		"# a\nvolume v of d handle":            `s.txt:2: "handle" is no trait of a volume`,
		"# a\nvolume v of d\nvolume v of d":    "s.txt:3: pv pv-v is in line 2 already",
		"# a\npod web uses v":                  "s.txt:2: write pod NAMESPACE/NAME",
		"# a\npod p/web uses v":                `s.txt:2: "v" is no volume of a pod`,
		"# a\npod p/web uses memory memory":    "s.txt:2: the pod uses memory twice",
		"# a\nvolume v of d\npod p/web uses v": "s.txt:3: v is claimed in the namespace default",
		"# a\nat 0s apply pod default/web":     "s.txt:2: there is no pod default/web",
		"# a\ndriver d\ndriver d":              "s.txt:3: driver d is there twice",
		"# a\nfault csi.stage object late":     `s.txt:2: "object late" can't be at csi.stage`,
		"# a\nfault csi.stage hangs 5s": `s.txt:2: "hangs" can't be at csi.stage; these can: slow, takes TIME, ` +
			"refused",
		"# a\nfault csi.stage takes 6m":     "s.txt:2: 6m0s is too long: a driver works on a call for 5m0s at most",
		"# a\nfault csi.stage late 2m":      "s.txt:2: 2m0s is too long or too short",
		"# a\nfault mounts.mount hangs 1ms": "s.txt:2: 1ms is too long or too short",

		"# a\nat 5s apply all\nafter 2s apply all\nat 6s apply all": "s.txt:4: at 6s is over by then",
		"# a\nat 0s kill agent for -5s":                             `s.txt:2: "-5s" is not a time`,
		"# a\nat 0s expect -1 calls any":                            `s.txt:2: "-1" is not how many`,
		"# a\nat 0s expect 0 calls csi.stge":                        `s.txt:2: "csi.stge" is no call that is counted`,
		"# a\nat 0s expect 0 calls any of v":                        "s.txt:2: no volume has the handle v",
		"# a\nat 0s apply job x":                                    "s.txt:2: \"job\" is no kind of object",
		"# a\nat 0s delete pv x": "s.txt:2: there is no pv x; " +
			"what makes one: volume vol-a of disk.example",
		"# a\ndriver d\nat 0s break driver d once": `s.txt:3: "once" is nothing that a driver can come to`,
		"# a\ndriver d\nvolume v of d\nat 0s hand over v of driver d for 1m": "s.txt:4: the volumes of d can't go " +
			"to another node",
		"# a\npod default/w uses scratch\nat 0s expect volume scrach of pod default/w unmounted": "s.txt:3: the pod " +
			"default/w has no volume scrach",
		"# a\npod default/w uses scratch\nat 0s expect volume scratch of pod default/w there": `s.txt:3: "there" ` +
			"is not how a volume stands",
		"# a\nat 0s stop driver d":                  "s.txt:2: there is no driver d",
		"# a\nat 0s make file srv":                  `s.txt:2: "srv" is no path of the host`,
		"# a\nat 0s expect directory /a/../b":       `s.txt:2: "/a/../b" is no path of the host`,
		"# a\nat 0s write f in volume v of pod p/q": "s.txt:2: there is no pod p/q",
		"# a\nat 0s write a/b in volume v of pod default/web" +
			pod: `s.txt:2: "a/b" is no name of a file in a volume`,
		"# a\nat 0s apply all" + pod + "spec: 1": "s.txt:4: the Pod",
		"# a\nat 0s apply all" + pod +
			"oops: 1": "s.txt:4: the Pod: line 7: oops: unknown " +
			"field \"oops\"",
		"# a\nat 0s apply all" + pod +
			pod: "s.txt:9: pod default/web is in line 4 already",
		"# a\nat 0s apply all\n---\nkind: Job\n": "s.txt:4: an object without " +
			"an apiVersion",
		"# a\nat 0s apply all\n---\nkind: Job\napiVersion: v1\n": "s.txt:4: apiVersion " +
			"\"v1\", kind \"Job\" is no object",
		"# a\nat 0s apply all\n---\nkind: Pod\napiVersion: v1\nmetadata:\n\tname: x\n": "s.txt:4: this is not YAML: " +
			"document 1, line 7: a tab is in the indentation",
	} {
		_, err := Parse("s.txt", text)
		require.ErrorContains(t, err, want, "%q", text)
		require.Empty(t, wording.Wrong(err.Error()), "%q", text)
	}
}

// TestEveryNameIsThere: what a statement or a manifest names must be there, whatever kind of thing it is, and the error
// says what somebody may have meant.
func TestEveryNameIsThere(t *testing.T) {
	const world = "# a\ndriver disk.example staging attach\nvolume vol-a of disk.example\npod default/web uses " +
		"vol-a scratch\nat 0s apply all\n"
	for line, want := range map[string]string{
		"volume vol-b of disk.exampel": "there is no driver disk.exampel; did you " +
			"mean disk.example?",
		"pod default/db uses inline:dsk.example": "there is no driver dsk.example; did you " +
			"mean disk.example?",
		"pod default/db uses vol-aa": `"vol-aa" is no volume of a pod; did you mean vol-a?`,
		"pod default/db uses scrach": `"scrach" is no volume of a pod; did you mean scratch?`,
		"drvier file.example":        `"drvier" begins no statement; did you mean driver?`,
		"driver file.example stagng": `"stagng" is no trait of a driver; did you mean staging?`,
		"fault csi.stge late 1s":     `"csi.stge" is no site at which a fault can be injected; did you mean csi.stage?`,
		"after 1s stop driver disk.exampel": "there is no driver disk.exampel; did you " +
			"mean disk.example?",
		"after 1s stop driver nfs": "there is no driver nfs; there are: " +
			"disk.example",
		"after 1s break driver disk.example hang": `"hang" is nothing that a driver can come to; did you mean hangs?`,
		"after 1s delete pod default/wbe": "there is no pod default/wbe; did you mean " +
			"default/web?",
		"after 1s delete pv pv-vol-b": "there is no pv pv-vol-b; did you mean " +
			"pv-vol-a?",
		"after 1s apply pvcs default/vol-a": `"pvcs" is no kind of object; did you mean pvc?`,
		"after 1s apply csidriver disk.exampel": "there is no csidriver disk.exampel; did " +
			"you mean disk.example?",
		"after 1s expect volume vol-b of pod default/web raw": "the pod default/web has no volume vol-b; " +
			"did you mean vol-a?",
		"after 1s expect volume vol-a of pod default/web row": `"row" is not how a volume stands; did you mean raw?`,
		"after 1s expect 1 calls csi.stage of vol-b": "no volume has the handle vol-b; did you " +
			"mean vol-a?",
		"after 1s expect 1 calls csi.stag": `"csi.stag" is no call that is counted; did you mean csi.stage?`,
		"after 1s hand over vol-b of driver disk.example for 1m": "no volume of disk.example has the handle " +
			"vol-b; did you mean vol-a?",
		"after 1s mount over the stage of vol-b of driver disk.example": "no volume of disk.example has the handle " +
			"vol-b; did you mean vol-a?",
		"after 1s fail disk of vol-a of driver disk.example goen": `"goen" is not how a disk fails; did you mean gone?`,
	} {
		_, err := Parse("s.txt", world+line)
		require.ErrorContains(t, err, want, line)
		require.NotContains(t, err.Error(), "\n", line) // it has no second error
		require.Empty(t, wording.Wrong(err.Error()), line)
	}
}

// TestAllErrorsAreTold: no error of a scenario hides another one, and none is told for what another one hides.
func TestAllErrorsAreTold(t *testing.T) {
	_, err := Parse("s.txt", "driver d stagng\nvolume v of d big\npod web uses v\nat soon stop driver e\nat 0s "+
		"expect pod default/web ready\n"+
		"at 0s fly\n---\napiVersion: v1\nkind: Pod\nmetadata: {nam: db}\n")
	require.EqualError(t, err, strings.Join([]string{
		`s.txt:1: "stagng" is no trait of a driver; did you mean staging?`,
		"s.txt:1: the scenario says nothing of itself; begin it with a comment: what happens, and the bug that it " +
			"comes from",
		`s.txt:2: "big" is no trait of a volume; block, one-pod, read-only, handle HANDLE, option MOUNT-OPTION and ` +
			"on LABEL=VALUE are",
		"s.txt:3: write pod NAMESPACE/NAME [version V] uses VOLUME…, like: pod default/web uses vol-a memory",
		`s.txt:4: "soon" is not a time of up to a day; write it like 90s or 2m`,
		"s.txt:4: there is no driver e; there are: d",
		`s.txt:6: "fly" is nothing that can happen or be expected; docs/volsim.md lists what can`,
		`s.txt:8: the Pod: line 10: metadata.nam: unknown field "nam"; did you mean "name"?`,
	}, "\n"))
	_, err = Parse("s.txt", strings.Repeat("fly\n", lang.MostErrors+3))
	require.ErrorContains(t, err, "s.txt: 5 more errors")
}

func FuzzParse(f *testing.F) {
	entries, err := catalogue.ReadDir("catalogue")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		text, err := catalogue.ReadFile("catalogue/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("# a\ndriver d publishes-nothing without-mount\nat 0s replace driver d\nat 1s make file /srv/x\nat 2s " +
		"expect file /srv/x")
	f.Add("# a\nat 0s bind sub in volume v of pod default/web\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}")
	f.Add("# a\ndriver d\nvolume v of d block handle h option o\npod default/p version 2 uses v:ro scratch memory " +
		"inline:d host:/x\nat 0s apply all")
	f.Add("# a\nfault csi.stage of x nth 2 late 1s\nat 0s apply all")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("s.txt", text)
		if err != nil {
			require.Contains(t, err.Error(), "s.txt")
			return
		}
		require.NotEmpty(t, s.Steps)
	})
}

// TestWhatNamesAScenario: a command line names a file as it was given, a scenario of the catalogue by its name, and no
// code stands in a title.
func TestWhatNamesAScenario(t *testing.T) {
	const text = "# a#1: it is slow,\n# but it ends. It takes long.\n# caught by: L2\nat 0s apply all\n"
	for file, argument := range map[string]string{
		"a/b.txt": "a/b.txt", catalogueDir + "demo.txt": catalogueDir + "demo.txt",
		"it's here.txt": `'it'\''s here.txt'`,
	} {
		s, err := Parse(file, text)
		require.NoError(t, err)
		require.Equal(t, argument, s.Argument())
		require.Equal(t, "a#1: it is slow, but it ends.", s.Title())
	}
	all, err := Catalogue()
	require.NoError(t, err)
	for _, s := range all {
		require.Equal(t, s.Name, s.Argument())
		require.NotRegexp(t, `^(laws|[BF]\d+|[SL]\d+|K:|Pattern)\b`, s.Title())
	}
}

// TestAFaultThatNoCallMeetsSaysOfWhatTheCallsWere: who names another object, or counts too far, sees what there was.
func TestAFaultThatNoCallMeetsSaysOfWhatTheCallsWere(t *testing.T) {
	s, err := Parse("s.txt", "# a\ndriver disk.example staging\nvolume vol-a of disk.example\npod default/web uses "+
		"vol-a\n"+
		"fault csi.stage of vol-b late 1s\nfault csi.stage nth 7 late 1s\nfault child.lives helper lives\n"+
		"at 0s apply all\nwithin 5m expect pod default/web ready\n")
	require.NoError(t, err)
	const is = " is met by no call before the timeline ends; "
	require.Equal(t, []string{
		"line 5: fault csi.stage of vol-b late 1s" + is + "calls of csi.stage were of: disk.example^vol-a",
		"line 6: fault csi.stage nth 7 late 1s" + is + "it is at number 7 of such calls, and the last one is number 1",
		"line 7: fault child.lives helper lives" + is + "no call of child.lives came before then",
	}, RunScenario(s, false, nil, nil).Stale)
}
