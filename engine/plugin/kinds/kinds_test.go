package kinds

import (
	"path"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

const (
	plugins = "/r/plugins/kubernetes.io/csi"
	pods    = "/r/pods"
)

func config(string) plugin.DriverConfig {
	return plugin.DriverConfig{SetUp: 1, TearDown: 2, Unstage: 3, LateWindow: 4}
}

func data(spec, handle, lifecycle string) string {
	return string(csi.VolData{
		SpecVolID: spec, VolumeHandle: handle, DriverName: "d.example", NodeName: "node1",
		Lifecycle: lifecycle,
	}.Marshal())
}

func write(n *plugintest.Node, file, text string) {
	n.World.WriteFile(file, []byte(text))
}

// world is a root directory as a node without a journal has it.
func world() *plugintest.Node {
	n := plugintest.New("/r")
	stage := plugin.StagePlace("/r", "d.example", "h")
	write(n, stage.Data, data("pv1", "h", "Persistent"))
	n.Mount(stage.Path, "volume")
	publish := plugin.PublishPlace("/r", "u1", "pv1")
	write(n, publish.Data, data("pv1", "h", "Persistent"))
	n.Mount(publish.Path, "volume")
	inline := plugin.PublishPlace("/r", "u2", "v")
	write(n, inline.Data, data("v", "csi-1", "Ephemeral"))
	n.World.MakeDir(inline.Path)
	n.Put(pods+"/u2/volumes/kubernetes.io~empty-dir/e/content", hal.TypeFile)
	n.Put(pods+"/u2/volumes/kubernetes.io~empty-dir/.e.deleting/content", hal.TypeFile)
	n.Put(pods+"/u3/volumes/kubernetes.io~empty-dir/.gone.deleting/content", hal.TypeFile)
	write(n, plugins+"/pv/old/vol_data.json", data("old", "h-old", "Persistent"))
	n.World.MakeDir(plugins + "/pv/old/globalmount")
	write(n, plugins+"/volumeDevices/blk/data/vol_data.json", data("blk", "h-blk", ""))
	n.World.MakeDir(plugins + "/volumeDevices/staging/blk")
	n.Put(plugins+"/volumeDevices/publish/blk/u1", hal.TypeBlockDevice)
	return n
}

func TestWhatIsFoundCanBeTakenDown(t *testing.T) {
	n := world()
	listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
	require.NoError(t, err)
	rungs, left := All().Discover("/r", listing, config)
	require.Empty(t, left)
	var keys []hal.Key
	below := map[hal.Key][]hal.Key{}
	for _, r := range rungs {
		keys = append(keys, r.Key)
		below[r.Key] = r.Below
	}
	require.Equal(t, []hal.Key{
		"csi.stage/d.example^h", "csi.stage/d.example^h-old", "csi.stage/d.example^h-blk",
		"csi.publish/d.example^h-blk/u1/blk", "csi.publish/d.example^h/u1/pv1", "csi.publish/d.example^csi-1/u2/v",
		"emptydir/u2/e", "emptydir/u3/gone",
	}, keys)
	require.Equal(t, []hal.Key{"csi.stage/d.example^h"}, below["csi.publish/d.example^h/u1/pv1"])
	require.Equal(t, []hal.Key{"csi.stage/d.example^h-blk"}, below["csi.publish/d.example^h-blk/u1/blk"])
	require.Empty(t, below["csi.publish/d.example^csi-1/u2/v"])

	for i := len(rungs) - 1; i >= 0; i-- {
		r := rungs[i]
		verbs, ok := All().VerbsOf(r.Kind)
		require.True(t, ok)
		o := core.Op{
			ID: 1, Verb: core.TearDown, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Volume: r.Volume, Actor: r.Actor,
			Params: r.Want, Quiet: true,
		}
		seen := verbs.Inspect(n.HAL(), o)
		require.Equal(t, hal.Done, seen.Outcome)
		o.Fingerprint = seen.Fingerprint
		down := verbs.TearDown(n.HAL(), o)
		if r.Key == "emptydir/u2/e" {
			require.Equal(t, hal.NotDone, down.Outcome, "it has content, and its pod may come")
			o.IsNamed = true
			down = verbs.TearDown(n.HAL(), o)
		}
		require.Equal(t, hal.Done, down.Outcome, "%s: %s", r.Key, down.Reason)
	}
	require.Equal(t, `/r/plugins directory
/r/plugins/kubernetes.io directory
/r/plugins/kubernetes.io/csi directory
/r/plugins/kubernetes.io/csi/d.example directory
/r/plugins/kubernetes.io/csi/pv directory
/r/plugins/kubernetes.io/csi/volumeDevices directory
/r/pods directory
`, n.Tree("/r"))
}

func TestWhatIsNotRecognisedIsLeftAlone(t *testing.T) {
	n := plugintest.New("/r")
	long := data("x", string(make([]byte, 200)), "")
	for file, text := range map[string]string{
		plugins + "/d.example/0000/vol_data.json":                 data("pv1", "h", ""),
		plugins + "/d.example/cut/vol_data.json":                  `{"driverName":"d.exa`,
		plugins + "/d.example/empty/vol_data.json":                "",
		plugins + "/d.example/long/vol_data.json":                 long,
		plugins + "/evil/x/vol_data.json":                         `{"driverName":"../../..","volumeHandle":"h"}`,
		plugins + "/volumeDevices/a/data/vol_data.json":           data("b", "h", ""),
		pods + "/u1/volumes/kubernetes.io~csi/a/vol_data.json":    data("b", "h", ""),
		pods + "/u1/volumes/kubernetes.io~csi/b/vol_data.json":    "null",
		pods + "/-u/volumes/kubernetes.io~csi/b/vol_data.json":    data("b", "h", ""),
		pods + "/u1/volumes/kubernetes.io~empty-dir/..deleting/x": "",
		pods + "/u1/volumes/kubernetes.io~empty-dir/A/x":          "",
		pods + "/u1/volumes/kubernetes.io~rbd/token/x":            "",
		pods + "/u1/volumes/kubernetes.io~csi/missing/mount/x":    "",
		plugins + "/d.example/missing/globalmount/x":              "",
	} {
		write(n, file, text)
	}
	before := n.Tree("/r")
	listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
	require.NoError(t, err)
	rungs, left := All().Discover("/r", listing, config)
	require.Empty(t, rungs)
	require.Len(t, left, 14)
	for _, l := range left {
		require.NotEmpty(t, l.Why)
	}
	require.Equal(t, before, n.Tree("/r"))
	require.Empty(t, n.Calls)
}

func TestAListingThatFailsIsNotAnEmptyOne(t *testing.T) {
	for _, dir := range []string{
		pods, pods + "/u1/volumes", pods + "/u1/volumes/kubernetes.io~csi", plugins,
		plugins + "/d.example",
	} {
		n := world()
		n.Fail["list "+dir] = plugintest.Errno("getdents", dir, syscall.EIO)
		_, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
		require.ErrorIs(t, err, syscall.EIO, dir)
	}
	listing, err := All().Scan(plugintest.New("/r").HAL(), hal.Call{}, "/r", false)
	require.NoError(t, err)
	rungs, left := All().Discover("/r", listing, config)
	require.Empty(t, rungs)
	require.Empty(t, slices.Concat(listing.Empty, listing.Unseen))
	require.Empty(t, left)
}

func TestUnknownKinds(t *testing.T) {
	_, ok := All().VerbsOf("nothing.session")
	require.False(t, ok)
}

// What a setup or a teardown that was cut short has left is found, as far as it is empty.
func TestIncompleteDirectoriesAreFound(t *testing.T) {
	const csi = pods + "/u1/volumes/kubernetes.io~csi"
	n := plugintest.New(csi+"/bare", csi+"/target/mount", csi+"/mounted", pods+"/u2/volumes/kubernetes.io~empty-dir")
	n.Put(csi+"/unwritten/.vol_data.json.new", hal.TypeFile)
	n.Put(csi+"/both/.vol_data.json.new", hal.TypeFile)
	n.World.MakeDir(csi + "/both/mount")
	n.Mount(csi+"/mounted/mount", "volume")
	n.Put(csi+"/content/mount/data", hal.TypeFile)
	n.Put(csi+"/stranger/file", hal.TypeFile)
	listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
	require.NoError(t, err)
	require.Equal(t, []string{
		csi + "/bare", csi + "/both/.vol_data.json.new", csi + "/both/mount", csi + "/target/mount",
		csi + "/unwritten/.vol_data.json.new",
		pods + "/u2/volumes/kubernetes.io~empty-dir",
	}, listing.Empty)
	for _, name := range listing.Empty {
		_, err := op.Prune(n.HAL(), hal.Call{}, name, pods)
		require.NoError(t, err)
	}
	rungs, left := All().Discover("/r", listing, config)
	require.Empty(t, rungs)
	require.Len(t, left, 3)
	for _, name := range []string{"/mounted/mount", "/content/mount/data", "/stranger/file"} {
		require.Contains(t, n.Tree("/r"), csi+name)
	}
	for _, name := range []string{"/bare", "/both", "/target", "/unwritten"} {
		require.NotContains(t, n.Tree("/r"), csi+name)
	}
}

// One entry that is no directory, or can't be listed for a reason of its own, is that entry's trouble, wherever it is.
func TestOneBadEntryIsOneEntrysTrouble(t *testing.T) {
	csiDir := plugins + "/d.example"
	for _, bad := range []string{
		pods + "/u9", pods + "/u1/volumes", pods + "/u1/volumes/kubernetes.io~rbd",
		pods + "/u1/volumes/kubernetes.io~csi/other",
		pods + "/u2/volumes/kubernetes.io~empty-dir/other", plugins + "/z.example", csiDir + "/other",
		plugins + "/volumeDevices/other",
		plugins + "/volumeDevices/staging/other", plugins + "/volumeDevices/publish/other",
	} {
		for _, kind := range []hal.FileType{hal.TypeSymlink, hal.TypeFile, hal.TypeOther} {
			n := world()
			n.Put(bad, kind)
			listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
			require.NoError(t, err, "%s is a %s", bad, kind)
			rungs, left := All().Discover("/r", listing, config)
			require.NotEmpty(t, left, "%s is a %s", bad, kind)
			require.GreaterOrEqual(t, len(rungs), 5, "%s: the others are found", bad)
		}
		for errno, isItsOwn := range map[syscall.Errno]bool{
			syscall.EXDEV: true, syscall.EACCES: true,
			syscall.EIO: false,
		} {
			n := world()
			n.World.MakeDir(bad)
			list := bad
			if path.Dir(bad) == plugins+"/volumeDevices" || path.Dir(bad) == plugins+"/volumeDevices/staging" {
				continue // their directories are not listed
			}
			if path.Base(path.Dir(bad)) == "kubernetes.io~empty-dir" {
				continue
			}
			n.Fail["list "+list] = plugintest.Errno("list", list, errno)
			n.Fail["list "+list+"/volumes"] = n.Fail["list "+list]
			listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
			require.Equal(t, isItsOwn, err == nil, "%s: %v", list, errno)
			if !isItsOwn {
				listing, err = All().Scan(n.HAL(), hal.Call{}, "/r", true)
				require.NoError(t, err)
			}
			rungs, left := All().Discover("/r", listing, config)
			require.NotEmpty(t, left, list)
			require.GreaterOrEqual(t, len(rungs), 5, list)
		}
	}
}

// Directories that a setup has made before its call, and no more, go: also of stages and of raw block volumes.
func TestIncompleteDirectoriesGo(t *testing.T) {
	n := plugintest.New("/r", pods)
	for _, dir := range []string{
		plugins + "/d.example/0123/globalmount", plugins + "/d.example/4567", plugins + "/volumeDevices/blk/data",
		plugins + "/volumeDevices/staging/blk",
		plugins + "/volumeDevices/publish/blk2", plugins + "/volumeDevices/blk3",
		pods + "/u1/volumes/kubernetes.io~csi/pv/mount",
	} {
		n.World.MakeDir(dir)
	}
	n.Put(plugins+"/d.example/0123/.vol_data.json.new", hal.TypeFile)
	n.World.MakeDir(plugins + "/d.example/89ab/globalmount/content")
	listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
	require.NoError(t, err)
	rungs, left := All().Discover("/r", listing, config)
	require.Empty(t, rungs)
	require.Len(t, left, 1, "what holds something stays, and is told of")
	for _, name := range listing.Empty {
		_, err := op.Prune(n.HAL(), hal.Call{}, name, plugin.Stop("/r", name))
		require.NoError(t, err)
	}
	require.Equal(t, `/r/plugins directory
/r/plugins/kubernetes.io directory
/r/plugins/kubernetes.io/csi directory
/r/plugins/kubernetes.io/csi/d.example directory
/r/plugins/kubernetes.io/csi/d.example/89ab directory
/r/plugins/kubernetes.io/csi/d.example/89ab/globalmount directory
/r/plugins/kubernetes.io/csi/d.example/89ab/globalmount/content directory
/r/plugins/kubernetes.io/csi/volumeDevices directory
/r/pods directory
`, n.Tree("/r"))
}

// A data file of which nothing else is left is told of, and stays: a late call of its driver may bring what it names.
func TestTheLastDataFileStays(t *testing.T) {
	const blocks = plugins + "/volumeDevices"
	n := plugintest.New("/r", pods, blocks+"/publish/blk", blocks+"/staging")
	write(n, blocks+"/blk/data/vol_data.json", data("blk", "h", ""))
	n.Put(blocks+"/cut/data/.vol_data.json.new", hal.TypeFile)
	listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
	require.NoError(t, err)
	require.Equal(t, []string{blocks + "/staging", blocks + "/publish/blk", blocks + "/cut/data/.vol_data.json.new"},
		listing.Empty)
	rungs, left := All().Discover("/r", listing, config)
	require.Empty(t, rungs)
	require.Len(t, left, 1)
	require.Equal(t, blocks+"/blk", left[0].Path)
	require.Contains(t, left[0].Why, "only its vol_data.json is left of volume h of driver d.example")
}

// A data file that says that its volume is staged names the stage, also where the stage's own directory is lost.
func TestADataFileNamesAStageThatIsLost(t *testing.T) {
	const blocks = plugins + "/volumeDevices"
	staged := func(spec, handle, lifecycle string) string {
		return string(csi.VolData{
			SpecVolID: spec, VolumeHandle: handle, DriverName: "d.example", NodeName: "node1", Lifecycle: lifecycle,
			Staged: "true",
		}.Marshal())
	}
	n := plugintest.New("/r", pods, blocks+"/staging", blocks+"/publish/blk/u1")
	for pod, text := range map[string]string{
		"u1": staged("pv", "h", "Persistent"), "u2": staged("pv", "h", "Persistent"),
		"u3": data("pv", "other", "Persistent"), "u4": staged("pv", "inline", "Ephemeral"),
	} {
		write(n, pods+"/"+pod+"/volumes/kubernetes.io~csi/pv/vol_data.json", text)
	}
	write(n, blocks+"/blk/data/vol_data.json", staged("blk", "raw", "Persistent"))
	write(n, blocks+"/blk2/data/vol_data.json", staged("blk2", "raw2", "Persistent"))
	listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
	require.NoError(t, err)
	rungs, left := All().Discover("/r", listing, config)
	require.Empty(t, left)
	stages := map[hal.Key]string{}
	below := map[hal.Key]int{}
	for _, r := range rungs {
		if r.Pod == "" {
			stages[r.Key] = core.Value(r.Want, "path")
		}
		for _, key := range r.Below {
			below[key]++
		}
	}
	require.Equal(t, map[hal.Key]string{
		csi.StageKey("d.example", "h"):    plugin.StagePlace("/r", "d.example", "h").Path,
		csi.StageKey("d.example", "raw"):  plugin.BlockStagePlace("/r", "blk").Path,
		csi.StageKey("d.example", "raw2"): plugin.BlockStagePlace("/r", "blk2").Path,
	}, stages)
	require.Equal(t, map[hal.Key]int{csi.StageKey("d.example", "h"): 2, csi.StageKey("d.example", "raw"): 1}, below)
}
