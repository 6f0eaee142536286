package volnode

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/mutants"
	"github.com/volnode/volnode/scenarios/verdict"
)

// The documents that say what a citation means: laws by number or name, properties and faults by code, the kubelet's
// behaviour as K:G97.
const (
	lawsFile       = "docs/laws.md"
	propertiesFile = "docs/properties.md"
	kubeletFile    = "docs/kubelet.md"
	faultsFile     = "docs/fault-atlas.md"
)

var (
	entryLine = regexp.MustCompile(`^(#+ |- )?<a id="`)
	anchorTag = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	faultRow  = regexp.MustCompile(`(?m)^\| (F\d\d) \|`)

	lawNumber   = `\d+(?:\.\d+)?[a-c]?`
	citesLaws   = regexp.MustCompile(`(?i)\blaws? (` + lawNumber + `(?:(?:,| and|, and) ` + lawNumber + `)*)`)
	oneLaw      = regexp.MustCompile(lawNumber)
	citesCode   = regexp.MustCompile(`\b(?:[SL]\d{1,2}|F\d\d)\b`)
	citesOthers = regexp.MustCompile(`\bK:([A-I])(\d+)(?:-[A-I](\d+))?`)

	issue     = regexp.MustCompile(`^[A-Za-z0-9.-]+#\d+$`)
	namedKind = regexp.MustCompile("(?i)\\b(stor|scenario|test)(?:y|ies|s)? ((?:`[^`]+`(?:, | and )?)+)")
	quoted    = regexp.MustCompile("`([^`]+)`")
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	judgedBy  = regexp.MustCompile("`([a-z_/]+\\.go)`((?: [A-Za-z]+,?)*)")
	leadsTo   = regexp.MustCompile(`\]\((?:docs/)?(laws|properties|kubelet)\.md#([^)]+)\)`)
	notSlug   = regexp.MustCompile(`[^a-z0-9]+`)
)

// entries returns the entries of a document by their anchors, each with its text in one line. An entry begins with its
// anchor.
func entries(t *testing.T, file string) map[string]string {
	t.Helper()
	all, ids := map[string]string{}, []string(nil)
	for _, line := range strings.Split(string(read(t, file)), "\n") {
		tags := anchorTag.FindAllStringSubmatch(line, -1)
		if entryLine.MatchString(line) {
			ids = nil
		}
		if strings.HasPrefix(line, "#") && len(tags) == 0 {
			ids = nil
			continue
		}
		for _, tag := range tags {
			if _, twice := all[tag[1]]; twice {
				t.Errorf("%s has the anchor %q twice", file, tag[1])
			}
			ids = append(ids, tag[1])
			all[tag[1]] = ""
		}
		for _, id := range ids {
			all[id] += strings.TrimSpace(line) + " "
		}
	}
	return all
}

// cited returns the laws, properties, faults and behaviours that a text cites, as anchors.
func cited(text string) []string {
	var all []string
	for _, m := range citesLaws.FindAllStringSubmatch(text, -1) {
		all = append(all, oneLaw.FindAllString(m[1], -1)...)
	}
	all = append(all, citesCode.FindAllString(text, -1)...)
	for _, m := range citesOthers.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(m[2]) // it is digits
		last := first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		for n := first; n <= last; n++ {
			all = append(all, "K:"+m[1]+strconv.Itoa(n))
		}
	}
	return all
}

// slug is the anchor of a law that is cited by its name.
func slug(name string) string {
	name = strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(name, "'", "")), "laws: ")
	return strings.Trim(notSlug.ReplaceAllString(name, "-"), "-")
}

// citedBy returns what the Law of a mutant cites. Issues of other projects and methods of CSI stand for themselves.
func citedBy(law string) []string {
	all := cited(law)
	for _, part := range strings.Split(law, ", ") {
		isCode := len(cited(part)) > 0 || oneLaw.FindString(part) == part
		if !isCode && !issue.MatchString(part) && !strings.HasPrefix(part, "CSI") {
			all = append(all, slug(part))
		}
	}
	return all
}

func definitions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range []string{lawsFile, propertiesFile, kubeletFile} {
		maps.Copy(all, entries(t, file))
	}
	for _, row := range faultRow.FindAllStringSubmatch(string(read(t, faultsFile)), -1) {
		all[row[1]] = ""
	}
	return all
}

func TestWhatIsACitation(t *testing.T) {
	for text, want := range map[string][]string{
		"a publish belongs to one stage (laws 1.3).": {"1.3"},
		"(laws 3 and 7)":                        {"3", "7"},
		"S8, laws 3.3, 4.3c, kubernetes#82190":  {"3.3", "4.3c", "S8"},
		"laws 5, L12":                           {"5", "L12"},
		"the kubelet's layout (K:G1-G3), K:B10": {"K:G1", "K:G2", "K:G3", "K:B10"},
		"F12, and not F1, S or SL1":             {"F12"},
	} {
		if is := cited(text); !slices.Equal(is, want) {
			t.Errorf("%q cites %v, not %v", text, is, want)
		}
	}
	for law, want := range map[string][]string{
		"S5, CSI NodeUnstageVolume, spec#389":        {"S5"},
		"S6, laws 4.2, 5.2":                          {"4.2", "5.2", "S6"},
		"S1, the node's name is never derived again": {"S1", "the-nodes-name-is-never-derived-again"},
		"S13, laws: places":                          {"S13", "places"},
		"panic, the owner waits for nobody":          {"panic", "the-owner-waits-for-nobody"},
	} {
		if is := citedBy(law); !slices.Equal(is, want) {
			t.Errorf("the law %q cites %v, not %v", law, is, want)
		}
	}
}

// Whoever reads a citation of a law, a property, a fault or the kubelet's behaviour finds it in docs.
func TestCitations(t *testing.T) {
	defined := definitions(t)
	for _, p := range sources(t) {
		content := read(t, p)
		if p == "go.sum" || p == "go.tool.sum" || !isText(content) {
			continue
		}
		for i, line := range strings.Split(string(content), "\n") {
			ids := cited(line)
			for _, m := range leadsTo.FindAllStringSubmatch(line, -1) {
				ids = append(ids, m[2])
			}
			for _, id := range ids {
				if _, is := defined[id]; !is {
					t.Errorf("%s:%d: nothing in docs says what %s is", p, i+1, id)
				}
			}
		}
	}
	for _, m := range mutants.Table {
		for _, id := range citedBy(m.Law) {
			if _, is := defined[id]; !is {
				t.Errorf("mutant %q: nothing in docs says what %s is", m.Name, id)
			}
		}
	}
}

// names returns the names of the files in a directory without ".txt".
func names(t *testing.T, dir string) []string {
	t.Helper()
	files, err := fs.Glob(os.DirFS(dir), "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], ".txt")
	}
	return files
}

// Each entry names a story, a scenario or a test that shows it, and what is named is there.
func TestEntriesAreShown(t *testing.T) {
	shows := map[string][]string{
		"stor": names(t, "engine/core/testdata/stories"), "scenario": names(t, "scenarios/catalogue"),
	}
	for _, p := range sources(t) {
		if strings.HasSuffix(p, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(string(read(t, p)), -1) {
				shows["test"] = append(shows["test"], m[1])
			}
		}
	}
	for _, file := range []string{lawsFile, propertiesFile, kubeletFile} {
		for id, text := range entries(t, file) {
			// a chapter, or what is yet to come
			isShown := strings.HasPrefix(text, "#") || strings.Contains(text, "Open:")
			for _, m := range namedKind.FindAllStringSubmatch(text, -1) {
				kind := strings.ToLower(m[1])
				for _, name := range quoted.FindAllStringSubmatch(m[2], -1) {
					isShown = true
					if !slices.Contains(shows[kind], name[1]) {
						t.Errorf("%s, %s: there is no %s %s", file, id,
							strings.Replace(kind, "stor", "story", 1), name[1])
					}
				}
			}
			if !isShown {
				t.Errorf("%s, %s: no story, scenario or test is named that shows it", file, id)
			}
		}
	}
}

// Where scenarios name a mutant that takes an entry back, or a property, the entry names one of them.
func TestEntriesNameWhatCatches(t *testing.T) {
	defined, by := definitions(t), map[string][]string{}
	catalogue, err := scenarios.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range catalogue {
		for _, what := range s.CaughtBy() {
			ids := []string{what}
			if at := slices.IndexFunc(mutants.Table, func(m mutants.Mutant) bool { return m.Name == what }); at >= 0 {
				ids = citedBy(mutants.Table[at].Law)
			}
			for _, id := range ids {
				by[id] = append(by[id], s.Name)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		text := defined[id]
		isNamed := slices.ContainsFunc(by[id], func(name string) bool { return strings.Contains(text, "`"+name+"`") })
		if !isNamed && !strings.HasPrefix(text, "#") {
			t.Errorf("%s: name one of the scenarios that show it: %s", id, strings.Join(by[id], ", "))
		}
	}
}

// docs/properties.md says of each property what the checks say of it, and where it is judged.
func TestPropertiesAreTheChecks(t *testing.T) {
	var source strings.Builder
	for _, p := range sources(t) {
		if strings.HasPrefix(p, "scenarios/") && path.Ext(p) == ".go" {
			source.Write(read(t, p))
		}
	}
	properties := entries(t, propertiesFile)
	for _, p := range verdict.Properties {
		text := properties[p.Code]
		if !strings.Contains(strings.ToLower(text), strings.ToLower(p.Text)) {
			t.Errorf("%s says of %s: %s; scenarios/verdict says: %s", propertiesFile, p.Code, text, p.Text)
		}
		for _, m := range judgedBy.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat("scenarios/" + m[1]); err != nil {
				t.Errorf("%s, %s: %v", propertiesFile, p.Code, err)
			}
			for _, name := range strings.FieldsFunc(m[2], func(r rune) bool { return r == ' ' || r == ',' }) {
				if !strings.Contains(source.String(), ") "+name+"(") &&
					!strings.Contains(source.String(), "func "+name+"(") {
					t.Errorf("%s, %s: %s has no function %s", propertiesFile, p.Code, m[1], name)
				}
			}
		}
	}
}
