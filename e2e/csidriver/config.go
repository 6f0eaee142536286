package csidriver

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// DefaultName is the driver's name when none is configured.
const DefaultName = "csi.volnode.dev"

// Version is what GetPluginInfo answers as the vendor version.
const Version = "0.1.0"

// defaultVolumeBytes is the size of a volume whose request names none.
const defaultVolumeBytes = 64 << 20

// Config says what one driver process serves. StateDir and Endpoint are required; the rest has working zero values.
type Config struct {
	Name            string         // the CSI driver name; empty means DefaultName
	Endpoint        string         // the CSI socket: a path, with or without "unix://"
	NodeID          string         // what NodeGetInfo answers; the only node ControllerPublishVolume knows
	StateDir        string         // state file, lock and what the volumes are made of
	RegistrationDir string         // where kubelet looks for plugin sockets; empty means no registration
	CallLog         string         // file that gets one JSON line per start and end of a call; empty means none
	Faults          string         // control file with []Rule, read on every call; empty means no faults
	Backend         Backend        // for mount volumes that do not name one; empty means BackendDir
	Volumes         []StaticVolume // volumes that exist without CreateVolume
	Capacity        int64          // bytes all volumes together may have; 0 means 1 TiB
	MaxVolumes      int64          // attached volumes per node; 0 means no limit
	NoStaging       bool           // do not offer STAGE_UNSTAGE_VOLUME
	Parallel        bool           // a call for a busy volume waits instead of failing with ABORTED
	RequireAttach   bool           // NodeStageVolume of a volume that is not attached fails
	Log             *slog.Logger   // nil means slog.Default
}

// StaticVolume is a volume that the driver creates at start if it is missing. Its ID is its name.
type StaticVolume struct {
	Name    string
	Backend Backend
	Bytes   int64
	FsType  string // what a blank image is formatted with when the stage request names no type; loop only
}

// idPattern keeps volume IDs usable as file names. "." and ".." do not match.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// ErrConfig is wrapped by every complaint about a Config or a flag value.
var ErrConfig = errors.New("configuration")

// ParseStaticVolume reads NAME=dir[:SIZE] or NAME=loop:SIZE[:FSTYPE]; SIZE is a Kubernetes quantity such as 64Mi.
func ParseStaticVolume(s string) (StaticVolume, error) {
	name, spec, found := strings.Cut(s, "=")
	if !found || !idPattern.MatchString(name) {
		return StaticVolume{}, fmt.Errorf("%w: volume %q: want NAME=dir|loop:SIZE[:FSTYPE]", ErrConfig, s)
	}
	fields := strings.Split(spec, ":")
	v := StaticVolume{Name: name, Backend: Backend(fields[0]), Bytes: defaultVolumeBytes}
	if !v.Backend.known() || len(fields) > 3 || (v.Backend == BackendLoop && len(fields) < 2) {
		return StaticVolume{}, fmt.Errorf("%w: volume %q: want NAME=dir|loop:SIZE[:FSTYPE]", ErrConfig, s)
	}
	if len(fields) > 1 {
		size, err := ParseSize(fields[1])
		if err != nil {
			return StaticVolume{}, fmt.Errorf("volume %q: %w", s, err)
		}
		v.Bytes = roundUp(size)
	}
	if len(fields) == 3 {
		v.FsType = fields[2]
	}
	if v.FsType != "" && (v.Backend == BackendDir || !fsTypes[v.FsType]) {
		return StaticVolume{}, fmt.Errorf("%w: volume %q: filesystem %q is not offered", ErrConfig, s, v.FsType)
	}
	return v, nil
}

// ParseSize reads a positive number of bytes written as a Kubernetes quantity.
func ParseSize(s string) (int64, error) {
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return 0, fmt.Errorf("%w: size %q is no number of bytes like 64Mi or 1Gi", ErrConfig, s)
	}
	if q.Value() <= 0 {
		return 0, fmt.Errorf("%w: size %q is not positive", ErrConfig, s)
	}
	return q.Value(), nil
}

// complete checks c and fills in what may be left out.
func (c Config) complete() (Config, error) {
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Backend == "" {
		c.Backend = BackendDir
	}
	if c.Capacity == 0 {
		c.Capacity = 1 << 40
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	switch {
	case c.Endpoint == "":
		return c, fmt.Errorf("%w: an endpoint is required", ErrConfig)
	case c.StateDir == "":
		return c, fmt.Errorf("%w: a state directory is required", ErrConfig)
	case c.NodeID == "":
		return c, fmt.Errorf("%w: a node ID is required", ErrConfig)
	case !c.Backend.known():
		return c, fmt.Errorf("%w: backend %q: want dir or loop", ErrConfig, c.Backend)
	}
	var err error
	if c.Endpoint, err = filepath.Abs(strings.TrimPrefix(c.Endpoint, "unix://")); err != nil {
		return c, err
	}
	c.StateDir, err = filepath.Abs(c.StateDir)
	return c, err
}
