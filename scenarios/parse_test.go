package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"
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
		"# a\nat 0s aply all":                  "do you mean: apply all?",
		"# a\nat 0s expect pod p/web Ready":    "do you mean: expect pod POD ready?",
		"# a\nwithin 1s apply all":             "s.txt:2: only an expectation has time",
		"# a\ndriver d quick\nat 0s apply all": `s.txt:2: "quick" is no trait`,
		"# a\nfault csi.stage hmm":             `s.txt:2: "hmm" is no kind of fault; at csi.stage there can be: slow, takes TIME`,
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
		"# a\nfault csi.stage hangs 5s":        `s.txt:2: "hangs" can't be at csi.stage; these can: slow, takes TIME, refused`,
		"# a\nfault csi.stage late 2m":         "s.txt:2: 2m0s is too long or too short",
		"# a\nfault mounts.mount hangs 1ms":    "s.txt:2: 1ms is too long or too short",

		"# a\nat 5s apply all\nafter 2s apply all\nat 6s apply all":                              "s.txt:4: at 6s is over by then",
		"# a\nat 0s kill agent for -5s":                                                          `s.txt:2: "-5s" is not a time`,
		"# a\nat 0s expect -1 calls any":                                                         `s.txt:2: "-1" is not how many`,
		"# a\nat 0s expect 0 calls csi.stge":                                                     `s.txt:2: "csi.stge" is no call that is counted`,
		"# a\nat 0s expect 0 calls any of v":                                                     "s.txt:2: no volume has the handle v",
		"# a\nat 0s apply job x":                                                                 "s.txt:2: there is no job x among the objects",
		"# a\nat 0s delete pv x":                                                                 "s.txt:2: there is no pv x among the objects",
		"# a\ndriver d\nat 0s break driver d once":                                               `s.txt:3: "once" is nothing that a driver can come to`,
		"# a\ndriver d\nvolume v of d\nat 0s hand over v of driver d for 1m":                     "s.txt:4: the volumes of d can't go to another node",
		"# a\npod default/w uses scratch\nat 0s expect volume scrach of pod default/w unmounted": "s.txt:3: the pod default/w has no volume scrach",
		"# a\npod default/w uses scratch\nat 0s expect volume scratch of pod default/w there":    `s.txt:3: "there" is not how a volume stands`,
		"# a\nat 0s stop driver d":                                                               "s.txt:2: there is no driver d",
		"# a\nat 0s make file srv":                                                               `s.txt:2: "srv" is no path of the host`,
		"# a\nat 0s expect directory /a/../b":                                                    `s.txt:2: "/a/../b" is no path of the host`,
		"# a\nat 0s write f in volume v of pod p/q":                                              "s.txt:2: there is no pod p/q among the objects",
		"# a\nat 0s write a/b in volume v of pod default/web" + pod:                              `s.txt:2: "a/b" is no name of a file in a volume`,
		"# a\nat 0s apply all" + pod + "spec: 1":                                                 "s.txt:4: the Pod",
		"# a\nat 0s apply all" + pod + "oops: 1":                                                 "json: unknown field \"oops\"",
		"# a\nat 0s apply all" + pod + pod:                                                       "s.txt:9: pod default/web is in line 4 already",
		"# a\nat 0s apply all\n---\nkind: Job\n":                                                 "s.txt:4: apiVersion \"\", kind \"Job\" is no object",
	} {
		_, err := Parse("s.txt", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
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
	f.Add("# a\ndriver d publishes-nothing without-mount\nat 0s replace driver d\nat 1s make file /srv/x\nat 2s expect file /srv/x")
	f.Add("# a\nat 0s bind sub in volume v of pod default/web\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}")
	f.Add("# a\ndriver d\nvolume v of d block handle h option o\npod default/p version 2 uses v:ro scratch memory inline:d host:/x\nat 0s apply all")
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

// TestWhatNamesAScenario: a command line names a file as it was given, a scenario of the catalogue by its name, and no code stands in a title.
func TestWhatNamesAScenario(t *testing.T) {
	const text = "# a#1: it is slow,\n# but it ends. It takes long.\n# caught by: L2\nat 0s apply all\n"
	for file, argument := range map[string]string{
		"a/b.txt": "a/b.txt", catalogueDir + "demo.txt": catalogueDir + "demo.txt", "it's here.txt": `'it'\''s here.txt'`,
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
