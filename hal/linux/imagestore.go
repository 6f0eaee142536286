package linux

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/opencontainers/umoci/oci/cas"
	"github.com/opencontainers/umoci/oci/casext"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// This file finds an image among those that lie in a directory: OCI image layouts (image-spec, image-layout.md), each a
// directory or an archive of one, at any depth.

const (
	nameOfContainerd = "io.containerd.image.name" // an annotation: the full name
	mostIndex        = 4 << 20                    // bytes of an index
	mostNested       = 4                          // indexes in each other
)

// image is one that was found.
type image struct {
	blobs    *blobs
	manifest ispec.Manifest
	diffIDs  []digest.Digest // of what each layer holds
	digest   string
}

func (im *image) close() { im.blobs.close() }

// findImage finds the image that a reference names in dir. What is no layout is passed over; a layout that can't be
// read is the error if no other has the image.
func findImage(dir, name string) (*image, error) {
	wanted, err := parse(name)
	if err != nil {
		return nil, because(syscall.EINVAL, err.Error())
	}
	top := dir
	if to, err := filepath.EvalSymlinks(dir); err == nil { // it may be a link to another disk
		top = to
	}
	var found *image
	var bad, unsafe error
	err = filepath.WalkDir(top, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			bad = errors.Join(bad, err)
			return nil
		}
		if err := isOfRootAlone(at, e); err != nil {
			unsafe = errors.Join(unsafe, err)
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		b := layoutAt(at, e)
		if b == nil {
			return nil
		}
		below, _ := filepath.Rel(top, strings.TrimSuffix(at, ".tar")) // at is below top
		if found, err = b.find(wanted, filepath.ToSlash(below)); err != nil {
			bad = errors.Join(bad, fmt.Errorf("%s: %w", at, err))
		}
		if found != nil {
			return fs.SkipAll
		}
		b.close()
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	switch {
	case found != nil:
		return found, nil
	case err != nil:
		return nil, err
	case unsafe != nil:
		return nil, because(syscall.EPERM, unsafe.Error())
	case bad != nil && !errors.Is(bad, fs.ErrNotExist):
		return nil, because(syscall.EBADMSG, bad.Error())
	}
	return nil, notHere(dir, name)
}

// isOfRoot: who can write there says what the images are. What is missing has none.
func isOfRoot(at string) error {
	var st unix.Stat_t
	switch err := unix.Stat(at, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Uid != 0 || st.Mode&0o022 != 0:
		return because(syscall.EPERM, fmt.Sprintf("users other than root can write to %s, which says what the images "+
			"are: check its content, then chown root %[1]s and chmod go-w %[1]s", at))
	}
	return nil
}

// isOfRootAlone is isOfRoot of what a walk meets: of a directory, with the index that may be in it, and of an archive.
func isOfRootAlone(at string, e fs.DirEntry) error {
	switch {
	case e.IsDir():
		return cmp.Or(isOfRoot(at), isOfRoot(filepath.Join(at, ispec.ImageIndexFile)))
	case isArchive(at, e):
		return isOfRoot(at)
	}
	return nil
}

func isArchive(at string, e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.HasSuffix(at, ".tar")
}

// layoutAt opens the layout at a path, nil if none is there.
func layoutAt(at string, e fs.DirEntry) *blobs {
	if e.IsDir() {
		if _, err := os.Stat(filepath.Join(at, ispec.ImageLayoutFile)); err != nil {
			return nil
		}
		return &blobs{dir: at}
	}
	if !isArchive(at, e) {
		return nil
	}
	f, err := os.Open(at)
	if err != nil {
		return nil
	}
	b := &blobs{file: f, parts: map[string]part{}}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err != nil { // the end, or no archive
			break
		}
		offset, _ := f.Seek(0, io.SeekCurrent) // of a file that is open
		b.parts[filepath.Clean(h.Name)] = part{offset, h.Size}
	}
	if _, is := b.parts[ispec.ImageLayoutFile]; !is {
		b.close()
		return nil
	}
	return b
}

// parse reads a reference as container runtimes do: "nginx" is docker.io/library/nginx:latest.
func parse(name string) (reference.Named, error) { return reference.ParseDockerRef(name) }

// find finds the manifest that a reference names in a layout that lies at below.
func (b *blobs) find(wanted reference.Named, below string) (*image, error) {
	index, err := b.GetIndex(context.Background())
	if err != nil {
		return nil, err
	}
	if pinned, is := wanted.(reference.Digested); is {
		d, err := b.pinned(index.Manifests, pinned.Digest(), 0)
		if d == nil || err != nil {
			return nil, err
		}
		return b.imageOf(*d, 0)
	}
	for _, d := range index.Manifests {
		if isNamed(d, wanted, below) {
			return b.imageOf(d, 0)
		}
	}
	return nil, nil
}

// pinned finds the index or the manifest with a digest among these and in the indexes among them, nil if it is in none.
func (b *blobs) pinned(all []ispec.Descriptor, of digest.Digest, nested int) (*ispec.Descriptor, error) {
	var unread error
	for _, d := range all {
		if d.Digest == of {
			return &d, nil
		}
		if !isIndex(d) || nested >= mostNested {
			continue
		}
		index, err := b.indexOf(d)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		if found, err := b.pinned(index.Manifests, of, nested+1); found != nil {
			return found, nil
		} else if err != nil {
			unread = errors.Join(unread, err)
		}
	}
	return nil, unread
}

func isIndex(d ispec.Descriptor) bool {
	return d.MediaType == ispec.MediaTypeImageIndex ||
		d.MediaType == "application/vnd.docker.distribution.manifest.list.v2+json"
}

// indexOf reads an index that is a part of the layout.
func (b *blobs) indexOf(d ispec.Descriptor) (index ispec.Index, err error) {
	text, err := b.textOf(d)
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	return index, err
}

// textOf reads a part that is text.
func (b *blobs) textOf(d ispec.Descriptor) ([]byte, error) {
	r, err := casext.NewEngine(b).GetVerifiedBlob(context.Background(), d)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, mostIndex))
	return text, errors.Join(err, r.Close())
}

// isNamed reports whether a manifest of a layout has a name: that which an annotation gives it in full; the layout's
// path and the tag that an annotation gives it; the layout's path alone.
func isNamed(d ispec.Descriptor, wanted reference.Named, below string) bool {
	tag := d.Annotations[ispec.AnnotationRefName]
	names := []string{d.Annotations[nameOfContainerd], tag, below + ":" + tag}
	if tag == "" {
		names = []string{d.Annotations[nameOfContainerd], below}
	}
	for _, name := range names {
		isTag := name == tag && !strings.ContainsAny(tag, "/:")
		if is, err := parse(name); err == nil && !isTag && is.String() == wanted.String() {
			return true
		}
	}
	return false
}

// imageOf reads the manifest for this machine that a descriptor leads to.
func (b *blobs) imageOf(d ispec.Descriptor, nested int) (*image, error) {
	if isIndex(d) {
		index, err := b.indexOf(d)
		if err != nil {
			return nil, err
		}
		for _, m := range index.Manifests {
			isOther := m.Platform != nil && (m.Platform.OS != "linux" || m.Platform.Architecture != runtime.GOARCH)
			if !isOther && nested < mostNested {
				return b.imageOf(m, nested+1)
			}
		}
		return nil, fmt.Errorf("index %s has no image for linux/%s", d.Digest, runtime.GOARCH)
	}
	if d.MediaType != ispec.MediaTypeImageManifest &&
		d.MediaType != "application/vnd.docker.distribution.manifest.v2+json" {
		return nil, fmt.Errorf("manifest %s is a %q, which is no image", d.Digest, d.MediaType)
	}
	text, err := b.textOf(d)
	if err != nil {
		return nil, err
	}
	im := &image{blobs: b, digest: d.Digest.String()}
	if err := json.Unmarshal(text, &im.manifest); err != nil {
		return nil, err
	}
	return im, im.configure()
}

// configure reads what the layers hold from the image's configuration. Docker's says the same as OCI's.
func (im *image) configure() error {
	d := im.manifest.Config
	d.MediaType = ispec.MediaTypeImageConfig
	blob, err := casext.NewEngine(im.blobs).FromDescriptor(context.Background(), d)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }() // it was only read
	config, is := blob.Data.(ispec.Image)
	im.diffIDs = config.RootFS.DiffIDs
	if !is || len(im.diffIDs) != len(im.manifest.Layers) {
		return fmt.Errorf("manifest %s does not describe the layers of an image", im.digest)
	}
	for i, id := range im.diffIDs {
		if err := errors.Join(id.Validate(), im.manifest.Layers[i].Digest.Validate()); err != nil {
			return fmt.Errorf("manifest %s: %w", im.digest, err)
		}
	}
	return nil
}

// blobs is the parts of one layout, for reading: [cas.Engine].
type blobs struct {
	dir   string // of a directory
	file  *os.File
	parts map[string]part // of an archive
}

type part struct{ offset, size int64 }

func (b *blobs) open(name string) (io.ReadCloser, error) {
	if b.file == nil {
		return os.Open(filepath.Join(b.dir, name))
	}
	p, is := b.parts[name]
	if !is {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return io.NopCloser(io.NewSectionReader(b.file, p.offset, p.size)), nil
}

func (b *blobs) close() {
	if b.file != nil {
		_ = b.file.Close() // it was only read
	}
}

// GetBlob opens a part by its digest.
func (b *blobs) GetBlob(_ context.Context, of digest.Digest) (io.ReadCloser, error) {
	if err := of.Validate(); err != nil {
		return nil, err
	}
	r, err := b.open("blobs/" + of.Algorithm().String() + "/" + of.Encoded())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("part %s is missing: %w", of, cas.ErrNotExist)
	}
	return r, err
}

// GetIndex reads the index.
func (b *blobs) GetIndex(context.Context) (index ispec.Index, err error) {
	r, err := b.open(ispec.ImageIndexFile)
	if err != nil {
		return index, err
	}
	defer func() { _ = r.Close() }() // it was only read
	if err := json.NewDecoder(io.LimitReader(r, mostIndex)).Decode(&index); err != nil {
		return index, fmt.Errorf("%s: %w", ispec.ImageIndexFile, err)
	}
	if index.Versioned != (specs.Versioned{SchemaVersion: 2}) {
		return index, fmt.Errorf("%s has schemaVersion %d, not 2", ispec.ImageIndexFile, index.SchemaVersion)
	}
	return index, nil
}

// StatBlob reports whether a part is there.
func (b *blobs) StatBlob(ctx context.Context, of digest.Digest) (bool, error) {
	r, err := b.GetBlob(ctx, of)
	if errors.Is(err, cas.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		_ = r.Close() // it was not read
	}
	return err == nil, err
}

// The rest of [cas.Engine] changes a layout, or looks after one: nobody does.

func (*blobs) PutBlob(context.Context, io.Reader) (digest.Digest, int64, error) {
	return "", 0, cas.ErrNotImplemented
}
func (*blobs) PutIndex(context.Context, ispec.Index) error        { return cas.ErrNotImplemented }
func (*blobs) DeleteBlob(context.Context, digest.Digest) error    { return cas.ErrNotImplemented }
func (*blobs) ListBlobs(context.Context) ([]digest.Digest, error) { return nil, cas.ErrNotImplemented }
func (*blobs) Clean(context.Context) error                        { return nil }

// Close leaves the file open: whoever has found the image closes it.
func (*blobs) Close() error { return nil }

var _ hal.Images = (*images)(nil)
