package linux

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/apex/log"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/umoci/oci/layer"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// images is hal.Images.
type images struct{ host *Host }

// unpackRequest: Dir is relative to Root, the agent's root directory.
type unpackRequest struct{ Images, Reference, Root, Dir string }

// Unpack unpacks in a helper child: a large image takes minutes, and a damaged one may break what reads it.
func (i *images) Unpack(c hal.Call, reference, dir string) error {
	object := reference + " " + dir
	return i.host.within(c, hal.ClassHelper, "unpack", object, func() error {
		root, below, err := i.host.home(dir, writing)
		if err != nil {
			return failure(hal.ClassHelper, "unpack", object, err)
		}
		_, err = i.host.help(c, hal.ClassHelper, "unpack", object,
			request{Unpack: &unpackRequest{i.host.options.ImageDir, reference, root, below}})
		return err
	})
}

// unpack is Unpack in a helper child. Its working directory is the parent of dir from then on, so that no link that
// somebody makes meanwhile leads it astray.
func unpack(r unpackRequest) (outcome hal.Outcome, err error) {
	if r.Images == "" {
		return hal.NotDone, because(syscall.EOPNOTSUPP,
			"volnode knows of no images; name the directory that they are in with --image-dir")
	}
	im, err := findImage(r.Images, r.Reference)
	if err != nil {
		return hal.NotDone, err
	}
	defer im.close()
	return makeWhole(r.Root, r.Dir, hal.Unpacking(r.Dir), im.unpackTo)
}

// makeWhole makes a directory below root that is there only once all of it is: fill makes it beside its place, at a
// path relative to the working directory.
func makeWhole(root, dir, beside string, fill func(partial string) error) (hal.Outcome, error) {
	if err := enter(root, filepath.Dir(dir)); err != nil {
		return hal.NotDone, err
	}
	unix.Umask(0o022) // of the directories that nobody tells the mode of
	name, partial := filepath.Base(dir), filepath.Base(beside)
	if _, err := os.Lstat(name); err == nil {
		return hal.NotDone, syscall.EEXIST
	}
	if err := discard(partial); err != nil {
		return hal.Unknown, err
	}
	if err := fill(partial); err != nil {
		if left := discard(partial); left != nil {
			return hal.Unknown, err
		}
		return hal.NotDone, err
	}
	if err := publish(partial, name); err != nil {
		return hal.Unknown, err
	}
	return hal.Done, nil
}

// discard removes a directory of the working directory, without stepping over a mount or a link.
func discard(name string) error {
	for more := true; more; {
		r := removal{path: name, left: discardStep, frames: make([]frame, 0, openDirs)}
		var err error
		more, err = r.run(unix.AT_FDCWD, name)
		r.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// discardStep is how many names one step of discard removes.
const discardStep = 10_000

// enter makes a directory below root the working directory. No link or mount is on the way.
func enter(root, below string) error {
	home, err := openHome(root)
	if err != nil {
		return err
	}
	defer unix.Close(home)
	fd, err := openat2(home, below, unix.O_PATH|unix.O_DIRECTORY, 0, resolveBelow)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchdir(fd)
}

// unpackTo makes dir with all that an unpacked image has.
func (im *image) unpackTo(dir string) (err error) {
	defer func() {
		r := recover()
		if r != nil {
			err = damaged(fmt.Errorf("it breaks what unpacks it: %v", r))
		}
	}()
	log.SetLevel(log.FatalLevel)
	root := filepath.Join(dir, hal.ImageFiles)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(root, 0o755)); err != nil {
		return err
	}
	home, err := os.Open(root)
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }() // it was only read
	room, err := newHeadroom(int(home.Fd()))
	if err != nil {
		return err
	}
	packed := int64(0)
	for _, is := range im.manifest.Layers {
		packed += max(is.Size, 0)
	}
	if room.lacks(packed) {
		return because(syscall.ENOSPC, fullDisk)
	}
	for i := range im.manifest.Layers {
		switch err := im.unpackLayer(root, i, &room); {
		case err != nil && room.isUsedUp():
			return because(syscall.ENOSPC, fullDisk)
		case err != nil:
			return damaged(err)
		}
	}
	return os.WriteFile(filepath.Join(dir, hal.ImageDigest), []byte(im.digest), 0o600)
}

// unpackLayer puts the layer of that number over those before it. It is read to its end, whatever is in it, and
// compared with its digests: that of the part, and that of what the part holds.
func (im *image) unpackLayer(root string, number int, room *headroom) error {
	is := im.manifest.Layers[number]
	part, err := im.blobs.GetBlob(context.Background(), is.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }() // it was only read
	whole, content := is.Digest.Verifier(), im.diffIDs[number].Verifier()
	packed := io.TeeReader(part, whole)
	plain, err := decompress(is.MediaType, packed)
	if err != nil {
		return err
	}
	defer plain.Close()
	files := io.TeeReader(room.guards(plain), content)
	if err := layer.UnpackLayer(root, files, &layer.UnpackOptions{}); err != nil {
		return err
	}
	for _, rest := range []io.Reader{files, packed} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return err
		}
	}
	if !whole.Verified() || !content.Verified() {
		return fmt.Errorf("part %s is not what its digest says", is.Digest)
	}
	return nil
}

// decompress reads a layer of a media type.
func decompress(mediaType string, r io.Reader) (io.ReadCloser, error) {
	_, how, _ := strings.Cut(mediaType, ".tar")
	switch how {
	case "":
		return io.NopCloser(r), nil
	case "+gzip", ".gzip": // OCI's, and Docker's
		return gzip.NewReader(r)
	case "+zstd", ".zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("layers of the type %q can't be unpacked", mediaType)
}

// damaged is EBADMSG for what is the image's fault, and not the disk's.
func damaged(err error) error {
	for _, disk := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.ENOMEM} {
		if errors.Is(err, disk) {
			return err
		}
	}
	return because(syscall.EBADMSG, err.Error()+"; put a whole copy of it in the image directory")
}

// publish gives what is unpacked its name, once all of it is on disk.
func publish(partial, name string) error {
	fd, err := unix.Open(partial, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Syncfs(fd); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, partial, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	here, err := os.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = here.Close() }() // it was only read
	return here.Sync()
}

// notHere is the error of a reference that no image has.
func notHere(dir, reference string) error {
	return because(syscall.ENOENT, fmt.Sprintf("no image in %s is named %s; volnode pulls no images: put it there, "+
		"as with skopeo copy docker://%s oci:%s/NAME:TAG", dir, reference, reference, dir))
}
