package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

// benchHost returns a host whose root directory is a tmpfs with n more mounts on it.
func benchHost(b *testing.B, n int) (h *Host, root string) {
	b.Helper()
	haltest.NeedPrivateMounts(b)
	root = b.TempDir()
	if err := unix.Mount("bench", root, "tmpfs", 0, "mode=0755"); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	for _, name := range []string{"source", "target", "many"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	h, err := New(Options{RootDir: root})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(h.Close)
	source := hal.NewMount{FSType: "tmpfs", Target: filepath.Join(root, "source")}
	if err := h.mounts.Mount(hal.Call{}, source); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		at := filepath.Join(root, "many", fmt.Sprintf("pods-%d-volumes-kubernetes.io~csi-%d-mount", i, i))
		if err := os.Mkdir(at, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := h.mounts.Bind(hal.Call{}, hal.BindSpec{
			Source: filepath.Join(root, "source"),
			Target: at,
		}); err != nil {
			b.Fatal(err)
		}
	}
	return h, root
}

func BenchmarkBindUnmount(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("mounts=%d", n), func(b *testing.B) {
			h, root := benchHost(b, n)
			spec := hal.BindSpec{Source: filepath.Join(root, "source"), Target: filepath.Join(root, "target")}
			b.ReportAllocs()
			for b.Loop() {
				if err := h.mounts.Bind(hal.Call{}, spec); err != nil {
					b.Fatal(err)
				}
				stack, err := h.mounts.At(hal.Call{}, spec.Target)
				if err != nil {
					b.Fatal(err)
				}
				if err := h.mounts.Unmount(hal.Call{}, spec.Target, stack[0].ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBind(b *testing.B) {
	h, root := benchHost(b, 10)
	spec := hal.BindSpec{Source: filepath.Join(root, "source"), Target: filepath.Join(root, "target")}
	b.ReportAllocs()
	for b.Loop() {
		if err := h.mounts.Bind(hal.Call{}, spec); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := unix.Unmount(spec.Target, 0); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkBindCrowded binds a directory of the very mount that carries all others.
func BenchmarkBindCrowded(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("mounts=%d", n), func(b *testing.B) {
			h, root := benchHost(b, n)
			spec := hal.BindSpec{Source: filepath.Join(root, "plain"), Target: filepath.Join(root, "target")}
			if err := os.Mkdir(spec.Source, 0o755); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := h.mounts.Bind(hal.Call{}, spec); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := unix.Unmount(spec.Target, 0); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func BenchmarkTable(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("mounts=%d", n), func(b *testing.B) {
			h, _ := benchHost(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.mounts.Table(hal.Call{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAt(b *testing.B) {
	h, root := benchHost(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.mounts.At(hal.Call{}, filepath.Join(root, "source")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHelper(b *testing.B) {
	h, root := benchHost(b, 0)
	for b.Loop() {
		if err := h.HAL().HostPaths.Make(hal.Call{}, root, hal.TypeDirectory); !hal.Is(err, unix.EEXIST) {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindHostPath(b *testing.B) {
	h, root := benchHost(b, 0)
	for b.Loop() {
		if _, err := h.HAL().HostPaths.Find(hal.Call{}, root); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCSICall(b *testing.B) {
	h, root := benchHost(b, 0)
	socket := filepath.Join(root, "csi.sock")
	(&fakeDriver{}).serve(b, socket)
	if _, err := h.drivers.Connect(hal.Call{}, "d", socket, hal.PeerEvents{}); err != nil {
		b.Fatal(err)
	}
	r := &csi.NodeStageVolumeRequest{VolumeId: "v", StagingTargetPath: root, Secrets: map[string]string{"a": "b"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.HAL().CSINode.Stage(hal.Call{Deadline: h.runtime.Now().Add(patience)}, "d", r); err != nil {
			b.Fatal(err)
		}
	}
}
