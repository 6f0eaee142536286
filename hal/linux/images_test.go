package linux

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/go-digest"
	ispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/ocilayout"
)

const refName = "org.opencontainers.image.ref.name"

// unpacker is a host with a directory of images.
func unpacker(t *testing.T) (images string, unpack func(reference string) (dir string, err error)) {
	t.Helper()
	at, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	images = filepath.Join(at, "images")
	h, err := New(Options{RootDir: filepath.Join(at, "root"), ImageDir: images})
	require.NoError(t, err)
	t.Cleanup(h.Close)
	n := 0
	return images, func(reference string) (string, error) {
		n++
		dir := filepath.Join(at, "root", "x"+strings.Repeat("x", n))
		return dir, h.HAL().Images.Unpack(hal.Call{}, reference, dir)
	}
}

func put(t *testing.T, dir, name string, layers ...ocilayout.Layer) string {
	t.Helper()
	annotations := map[string]string{refName: name}
	if name == "" {
		annotations = nil
	}
	digest, err := ocilayout.Put(dir, annotations, layers...)
	require.NoError(t, err)
	return digest
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(b)
}

// An image is found by the name that an annotation gives it in full, by the path of its layout and its tag, by the path
// alone, and by its digest.
func TestImagesAreFoundByTheirNames(t *testing.T) {
	images, unpack := unpacker(t)
	tagged := put(t, images+"/registry.example/team/app", "v1", ocilayout.Files(map[string]string{"is": "v1"}))
	put(t, images+"/registry.example/team/app", "v2", ocilayout.Files(map[string]string{"is": "v2"}))
	put(t, images+"/any/where", "registry.example/full:v3", ocilayout.Files(map[string]string{"is": "v3"}))
	put(t, images+"/nginx", "", ocilayout.Files(map[string]string{"is": "nginx"}))
	require.NoError(t, os.MkdirAll(images+"/no/layout", 0o755))
	require.NoError(t, os.WriteFile(images+"/no/layout/file.tar", []byte("no archive"), 0o644))
	for reference, is := range map[string]string{
		"registry.example/team/app:v1": "v1", "registry.example/team/app:v2": "v2", "registry.example/full:v3": "v3",
		"nginx": "nginx", "docker.io/library/nginx:latest": "nginx", "elsewhere.example/app@" + tagged: "v1",
		"registry.example/team/app:v2@" + tagged: "v1", // the digest says which
	} {
		dir, err := unpack(reference)
		require.NoError(t, err, reference)
		require.Equal(t, is, text(t, dir, hal.ImageFiles, "is"), reference)
	}
	for _, reference := range []string{
		"registry.example/team/app:v3", "registry.example/team/app", "v1", "app:v1", "full:v3",
		"registry.example/team/app@" + strings.Replace(tagged, tagged[7:11], "0000", 1),
	} {
		dir, err := unpack(reference)
		require.True(t, hal.Is(err, syscall.ENOENT), "%s: %v", reference, err)
		require.ErrorContains(t, err, "volnode pulls no images: put it there", reference)
		require.NoFileExists(t, dir)
	}
	_, err := unpack("Registry.Example/UPPER:v1")
	require.True(t, hal.Is(err, syscall.EINVAL), "%v", err)
}

// An image for several machines is an index of images, whose digest names it, as does that of the image for this one.
func TestAnImageForSeveralMachines(t *testing.T) {
	images, unpack := unpacker(t)
	one := put(t, images, "app:one", ocilayout.Files(map[string]string{"is": "here"}))
	var top ispec.Index
	require.NoError(t, json.Unmarshal([]byte(text(t, images, "index.json")), &top))
	here := top.Manifests[0]
	here.Annotations, here.Platform = nil, &ispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
	other := here
	other.Digest, other.Platform = digest.FromString("other"), &ispec.Platform{OS: "linux", Architecture: "vax"}
	index := ispec.Index{MediaType: ispec.MediaTypeImageIndex, Manifests: []ispec.Descriptor{other, here}}
	blob, err := json.Marshal(index)
	require.NoError(t, err)
	all := digest.FromBytes(blob)
	require.NoError(t, os.WriteFile(filepath.Join(images, "blobs/sha256", all.Encoded()), blob, 0o644))
	top.Manifests = []ispec.Descriptor{{
		MediaType: ispec.MediaTypeImageIndex, Digest: all, Size: int64(len(blob)),
		Annotations: map[string]string{refName: "app:all"},
	}}
	blob, err = json.Marshal(top)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(images+"/index.json", blob, 0o644))
	for _, reference := range []string{"app:all", "app@" + all.String(), "app@" + one} {
		dir, err := unpack(reference)
		require.NoError(t, err, reference)
		require.Equal(t, "here", text(t, dir, hal.ImageFiles, "is"))
		require.Equal(t, one, text(t, dir, hal.ImageDigest))
	}
	_, err = unpack("app@" + other.Digest.String())
	require.ErrorContains(t, err, "is missing", "an index names it, and its image is not here")
}

// The directory of images may be a link, as to another disk.
func TestImagesLieBehindALink(t *testing.T) {
	images, unpack := unpacker(t)
	elsewhere := t.TempDir()
	put(t, elsewhere+"/team/app", "v1", ocilayout.Files(map[string]string{"is": "v1"}))
	require.NoError(t, os.Symlink(elsewhere, images))
	dir, err := unpack("team/app:v1")
	require.NoError(t, err)
	require.Equal(t, "v1", text(t, dir, hal.ImageFiles, "is"))
}

// An archive of a layout, as docker and podman save it, is one, too.
func TestImagesAreFoundInArchives(t *testing.T) {
	images, unpack := unpacker(t)
	layout := t.TempDir()
	digest := put(t, layout, "registry.example/app:v1", ocilayout.Files(map[string]string{"a/b": "of an archive"}))
	require.NoError(t, os.MkdirAll(images, 0o755))
	f, err := os.Create(images + "/app.tar")
	require.NoError(t, err)
	w := tar.NewWriter(f)
	require.NoError(t, w.AddFS(os.DirFS(layout)))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	dir, err := unpack("registry.example/app:v1")
	require.NoError(t, err)
	require.Equal(t, "of an archive", text(t, dir, hal.ImageFiles, "a/b"))
	require.Equal(t, digest, text(t, dir, hal.ImageDigest))
}

// Layers are compressed in any way, and Docker has names of its own for them.
func TestLayersOfAllTypes(t *testing.T) {
	for _, mediaType := range []string{
		"application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip",
		"application/vnd.oci.image.layer.v1.tar+zstd", "application/vnd.docker.image.rootfs.diff.tar.gzip",
		"application/vnd.docker.image.rootfs.diff.tar",
	} {
		images, unpack := unpacker(t)
		layer := ocilayout.Files(map[string]string{"is": mediaType})
		layer.MediaType = mediaType
		put(t, images, "app:v1", layer)
		dir, err := unpack("app:v1")
		require.NoError(t, err, mediaType)
		require.Equal(t, mediaType, text(t, dir, hal.ImageFiles, "is"))
	}
	images, unpack := unpacker(t)
	layer := ocilayout.Files(map[string]string{"a": "b"})
	layer.MediaType = "application/vnd.oci.image.layer.v1.tar+brotli"
	put(t, images, "app:v1", layer)
	_, err := unpack("app:v1")
	require.ErrorContains(t, err, "tar+brotli\" can't be unpacked")
}

// Layers come one above the other: what a whiteout names goes, and so does what an opaque one hides.
func TestLayersHideWhatLiesBelow(t *testing.T) {
	images, unpack := unpacker(t)
	put(t, images, "app:v1",
		ocilayout.Files(map[string]string{"etc/keep": "1", "etc/gone": "1", "opaque/old": "1", "dir/file": "1"}),
		ocilayout.Files(map[string]string{
			"etc/.wh.gone": "", "opaque/.wh..wh..opq": "", "opaque/new": "2", ".wh.dir": "",
		}))
	dir, err := unpack("app:v1")
	require.NoError(t, err)
	root := filepath.Join(dir, hal.ImageFiles)
	require.Equal(t, "1", text(t, root, "etc/keep"))
	require.Equal(t, "2", text(t, root, "opaque/new"))
	for _, gone := range []string{"etc/gone", "etc/.wh.gone", "opaque/old", "dir"} {
		require.NoFileExists(t, filepath.Join(root, gone))
		require.NoDirExists(t, filepath.Join(root, gone))
	}
	var st unix.Stat_t
	require.NoError(t, unix.Stat(dir, &st))
	require.Equal(t, uint32(0o700), st.Mode&0o7777)
}

// No name and no link of an image leads out of it.
func TestNoNameOfAnImageLeadsOut(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}
	}
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	for name, entries := range map[string][]tar.Header{
		"dots":                       {file("../../../../../../../../" + outside)},
		"absolute":                   {file(outside)},
		"link to a directory":        {link("l", filepath.Dir(outside)), file("l/outside")},
		"relative link":              {link("l", strings.Repeat("../", 20)+filepath.Dir(outside)), file("l/outside")},
		"link to a file":             {link("l", outside), file("l")},
		"hard link":                  {{Name: "h", Linkname: outside, Typeflag: tar.TypeLink}, file("h")},
		"whiteout":                   {file("a/../../../../../../../.wh.outside")},
		"whiteout below a link":      {link("l", filepath.Dir(outside)), file("l/.wh.outside")},
		"opaque whiteout of a link":  {link("l", filepath.Dir(outside)), file("l/.wh..wh..opq")},
		"directory in place of link": {link("l", filepath.Dir(outside)), {Name: "l", Typeflag: tar.TypeDir, Mode: 0o777}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(outside, []byte("mine"), 0o600))
			images, unpack := unpacker(t)
			put(t, images, "app:v1", ocilayout.Layer{Entries: entries, Content: map[string]string{"l/outside": "theirs"}})
			_, err := unpack("app:v1")
			require.Equal(t, "mine", text(t, outside), "%v", err)
			var st unix.Stat_t
			require.NoError(t, unix.Stat(outside, &st))
			require.Equal(t, uint32(0o600), st.Mode&0o7777)
			require.Equal(t, uint64(1), st.Nlink)
		})
	}
}

// What is damaged, or no image, is refused by name, and leaves nothing.
func TestDamagedImagesLeaveNothing(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"part": func(t *testing.T, dir string) {
			rewrite(t, largest(t, dir), func(b []byte) { b[len(b)/2] ^= 1 })
		},
		"part is missing": func(t *testing.T, dir string) { require.NoError(t, os.Remove(largest(t, dir))) },
		"part is cut":     func(t *testing.T, dir string) { require.NoError(t, os.Truncate(largest(t, dir), 10)) },
		"index": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(dir+"/index.json", []byte("{"), 0o644))
		},
		"index of another version": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(dir+"/index.json", []byte(`{"schemaVersion": 1}`), 0o644))
		},
		"nothing that is an image": func(t *testing.T, dir string) {
			rewriteText(t, dir+"/index.json", "application/vnd.oci.image.manifest.v1+json", "text/plain")
		},
		"manifest that is another": func(t *testing.T, dir string) {
			rewriteText(t, dir+"/index.json", "sha256:", "sha256:00")
		},
	} {
		t.Run(name, func(t *testing.T) {
			images, unpack := unpacker(t)
			put(t, images, "app:v1", ocilayout.Files(map[string]string{"f": strings.Repeat("volnode", 1000)}))
			harm(t, images)
			dir, err := unpack("app:v1")
			require.True(t, hal.Is(err, syscall.EBADMSG), "%v", err)
			require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
			left, err := os.ReadDir(filepath.Dir(dir))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// largest is the largest part of a layout: here the layer.
func largest(t *testing.T, dir string) (name string) {
	t.Helper()
	most := int64(0)
	parts, err := os.ReadDir(dir + "/blobs/sha256")
	require.NoError(t, err)
	for _, e := range parts {
		info, err := e.Info()
		require.NoError(t, err)
		at := filepath.Join(dir, "blobs/sha256", e.Name())
		if b := text(t, at); strings.HasPrefix(b, "\x1f\x8b") && info.Size() > most {
			most, name = info.Size(), at
		}
	}
	return name
}

func rewrite(t *testing.T, file string, change func(b []byte)) {
	t.Helper()
	b := []byte(text(t, file))
	change(b)
	require.NoError(t, os.WriteFile(file, b, 0o644))
}

func rewriteText(t *testing.T, file, old, replacement string) {
	t.Helper()
	is := text(t, file)
	require.Contains(t, is, old)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(is, old, replacement, 1)), 0o644))
}

// A disk that is full is no fault of the image, and keeps nothing of it. A part of it stays free all along.
func TestAnImageThatDoesNotFit(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	images, unpack := unpacker(t)
	root := filepath.Join(filepath.Dir(images), "root")
	require.NoError(t, unix.Mount("small", root, "tmpfs", 0, "size=24m"))
	defer func() { require.NoError(t, unix.Unmount(root, unix.MNT_DETACH)) }()
	noise, packed := rand.New(rand.NewPCG(1, 2)), map[string]string{}
	for i := range 32 {
		b := make([]byte, 1<<20)
		for j := range b {
			b[j] = byte(noise.Uint32())
		}
		packed[fmt.Sprint("f", i)] = string(b)
	}
	put(t, images, "app:large", ocilayout.Files(packed))
	put(t, images, "app:unfolds", ocilayout.Files(map[string]string{"f": strings.Repeat("volnode\n", 4<<20)}))
	least := lowest(root)
	for i := range 6 { // what is read ahead when the disk is full is a matter of chance
		_, err := unpack([]string{"app:large", "app:unfolds"}[i%2])
		require.True(t, hal.Is(err, syscall.ENOSPC), "%v", err)
		left, err := os.ReadDir(root)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	require.Positive(t, least())
}

// lowest looks how much of a disk is free until it is asked for the least that it has seen.
func lowest(at string) func() uint64 {
	stop, least := make(chan struct{}), make(chan uint64)
	go func() {
		var st unix.Statfs_t
		for is := uint64(math.MaxUint64); ; {
			select {
			case <-stop:
				least <- is
				return
			default:
				_ = unix.Statfs(at, &st) // it is mounted
				is = min(is, st.Bavail)
			}
		}
	}()
	return func() uint64 { close(stop); return <-least }
}

// Who can write to the directory of images could give pods anything.
func TestOnlyRootHasImages(t *testing.T) {
	images, unpack := unpacker(t)
	put(t, images, "app:v1", ocilayout.Files(map[string]string{"f": "x"}))
	require.NoError(t, os.Chmod(images, 0o777))
	_, err := unpack("app:v1")
	require.True(t, hal.Is(err, syscall.EPERM), "%v", err)
	require.ErrorContains(t, err, "chmod go-w "+images)
	require.NoError(t, os.Chmod(images, 0o755))
	require.NoError(t, os.Chown(images, 65534, 0))
	_, err = unpack("app:v1")
	require.True(t, hal.Is(err, syscall.EPERM), "%v", err)
	require.NoError(t, os.Chown(images, 0, 0))
	// The same of what is in it. What is sound elsewhere is taken.
	for _, at := range []string{"", "/index.json"} {
		images, unpack := unpacker(t)
		put(t, images+"/b/app", "v1", ocilayout.Files(map[string]string{"f": "x"}))
		require.NoError(t, os.Chown(images+"/b/app"+at, 65534, 0))
		_, err = unpack("b/app:v1")
		require.True(t, hal.Is(err, syscall.EPERM), "%v", err)
		require.ErrorContains(t, err, "chown root "+images+"/b/app"+at)
		put(t, images+"/c", "b/app:v1", ocilayout.Files(map[string]string{"f": "sound"}))
		dir, err := unpack("b/app:v1")
		require.NoError(t, err)
		require.Equal(t, "sound", text(t, dir, hal.ImageFiles, "f"))
	}
}

// What an unpacking has left that was cut short is removed, and nothing that somebody has mounted there.
func TestRemainsAreNotRemovedThroughAMount(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	images, unpack := unpacker(t)
	put(t, images, "app:v1", ocilayout.Files(map[string]string{"f": "x"}))
	mine := t.TempDir()
	require.NoError(t, os.WriteFile(mine+"/precious", nil, 0o600))
	left := hal.Unpacking(filepath.Join(filepath.Dir(images), "root", "xx"))
	require.NoError(t, os.MkdirAll(left+"/rootfs/mnt", 0o755))
	require.NoError(t, unix.Mount(mine, left+"/rootfs/mnt", "", unix.MS_BIND, ""))
	_, err := unpack("app:v1")
	require.Error(t, err)
	require.Equal(t, hal.Unknown, hal.OutcomeOf(err))
	require.NoError(t, unix.Unmount(left+"/rootfs/mnt", unix.MNT_DETACH))
	require.FileExists(t, mine+"/precious")
}

// Without a directory of images there are none.
func TestWithoutImages(t *testing.T) {
	h, err := New(Options{RootDir: filepath.Join(t.TempDir(), "root")})
	require.NoError(t, err)
	defer h.Close()
	err = h.HAL().Images.Unpack(hal.Call{}, "app:v1", h.options.RootDir+"/x")
	require.True(t, hal.Is(err, syscall.EOPNOTSUPP), "%v", err)
	require.ErrorContains(t, err, "--image-dir")
}
