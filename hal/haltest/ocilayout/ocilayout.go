// Package ocilayout writes OCI images for tests: image layouts in directories (image-spec, image-layout.md).
package ocilayout

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Layer is the entries of one layer, in their order. Content has the content of each file by its name. MediaType says
// how it is compressed; "" is by gzip.
type Layer struct {
	Entries   []tar.Header
	Content   map[string]string
	MediaType string
}

// Files is a layer of files, sorted by name.
func Files(files map[string]string) Layer {
	l := Layer{Content: files}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		l.Entries = append(l.Entries, tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg})
	}
	return l
}

// Put adds an image to the layout at dir, which it makes if nothing is there, in place of one with the same
// annotations. It returns the manifest's digest.
func Put(dir string, annotations map[string]string, layers ...Layer) (string, error) {
	w := writer{dir: dir}
	manifest := ispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ispec.MediaTypeImageManifest}
	config := ispec.Image{Platform: ispec.Platform{OS: "linux", Architecture: runtime.GOARCH}}
	config.RootFS.Type = "layers"
	for _, l := range layers {
		plain := w.archive(l)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, digest.FromBytes(plain))
		mediaType := cmp.Or(l.MediaType, ispec.MediaTypeImageLayerGzip)
		manifest.Layers = append(manifest.Layers, w.blob(mediaType, w.compress(mediaType, plain)))
	}
	manifest.Config = w.blob(ispec.MediaTypeImageConfig, w.json(config))
	d := w.blob(ispec.MediaTypeImageManifest, w.json(manifest))
	d.Annotations = annotations
	w.list(d)
	w.file(ispec.ImageLayoutFile, w.json(ispec.ImageLayout{Version: ispec.ImageLayoutVersion}))
	return d.Digest.String(), w.err
}

// writer writes a layout, until the first error.
type writer struct {
	dir string
	err error
}

func (w *writer) note(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) archive(l Layer) []byte {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for i := range l.Entries {
		h := l.Entries[i]
		content := l.Content[h.Name]
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		w.note(t.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := t.Write([]byte(content))
			w.note(err)
		}
	}
	w.note(t.Close())
	return b.Bytes()
}

func (w *writer) compress(mediaType string, plain []byte) []byte {
	var b bytes.Buffer
	var z io.WriteCloser
	switch {
	case strings.HasSuffix(mediaType, "gzip"):
		z = gzip.NewWriter(&b)
	case strings.HasSuffix(mediaType, "zstd"):
		var err error
		z, err = zstd.NewWriter(&b)
		w.note(err)
	default:
		return plain
	}
	_, err := z.Write(plain)
	w.note(errors.Join(err, z.Close()))
	return b.Bytes()
}

func (w *writer) json(v any) []byte {
	text, err := json.Marshal(v)
	w.note(err)
	return text
}

func (w *writer) blob(mediaType string, content []byte) ispec.Descriptor {
	d := ispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	w.file(filepath.Join(ispec.ImageBlobsDir, "sha256", d.Digest.Encoded()), content)
	return d
}

// list enters a manifest in the index, in place of one with the same annotations.
func (w *writer) list(d ispec.Descriptor) {
	var index ispec.Index
	text, err := os.ReadFile(filepath.Join(w.dir, ispec.ImageIndexFile))
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		w.note(err)
	}
	index.SchemaVersion, index.MediaType = 2, ispec.MediaTypeImageIndex
	index.Manifests = append(slices.DeleteFunc(index.Manifests, func(o ispec.Descriptor) bool {
		return maps.Equal(o.Annotations, d.Annotations)
	}), d)
	w.file(ispec.ImageIndexFile, w.json(index))
}

func (w *writer) file(name string, content []byte) {
	at := filepath.Join(w.dir, name)
	w.note(os.MkdirAll(filepath.Dir(at), 0o755))
	w.note(os.WriteFile(at, content, 0o644))
}
