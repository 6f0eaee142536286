package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/manifest"
)

const (
	configVersion = "volnode.dev/v1alpha1"
	configKind    = "NodeConfiguration"
)

// Where things are if nobody says otherwise.
const (
	defaultRootDir     = "/var/lib/volnode"
	defaultManifestDir = "/etc/volnode/manifests"
	defaultImageDir    = "/var/lib/volnode-images"
	defaultSocket      = "/run/volnode/volnode.sock"
)

// configuration is what the operator decides: a NodeConfiguration file, with the flags over it. docs/volnode.md
// describes each key.
type configuration struct {
	APIVersion        string            `yaml:"apiVersion"`
	Kind              string            `yaml:"kind"`
	NodeName          string            `yaml:"nodeName"`
	NodeLabels        map[string]string `yaml:"nodeLabels"`
	RootDir           string            `yaml:"rootDir"`
	ManifestDir       string            `yaml:"manifestDir"`
	ImageDir          string            `yaml:"imageDir"`
	GitRepoVolumes    []string          `yaml:"gitRepoVolumes"`
	FlexVolumeDir     string            `yaml:"flexVolumeDir"` // "" serves no FlexVolume drivers
	EmptyDirQuota     emptyDirQuota     `yaml:"emptyDirQuota"`
	MissingManifests  missingManifests  `yaml:"missingManifests"`
	MountNamespace    mountNamespace    `yaml:"mountNamespace"`
	Socket            string            `yaml:"socket"`
	Metrics           metricsConfig     `yaml:"metrics"`
	CSI               csiConfig         `yaml:"csi"`
	JournalBytes      size              `yaml:"journalBytes"`
	VolumeStatsPeriod time.Duration     `yaml:"volumeStatsPeriod"`
	Logging           loggingConfig     `yaml:"logging"`

	// Of flags alone: words of a person for one start.
	adopt, acceptMachine bool
	isHostName           bool // nobody gave NodeName: it is the host's

	former []string // keys of the file that have another name since: "csi.settle is csi.lateWindow since"
}

type metricsConfig struct {
	Address string `yaml:"address"` // of a loopback interface; "" is none
}

type csiConfig struct {
	CallTimeout    time.Duration           `yaml:"callTimeout"`
	UnstageTimeout time.Duration           `yaml:"unstageTimeout"`
	LateWindow     time.Duration           `yaml:"lateWindow"`
	PerDriver      map[string]driverConfig `yaml:"perDriver"`
}

// driverConfig is one driver's; nil means as for all drivers.
type driverConfig struct {
	CallTimeout           *time.Duration `yaml:"callTimeout"`
	UnstageTimeout        *time.Duration `yaml:"unstageTimeout"`
	LateWindow            *time.Duration `yaml:"lateWindow"`
	ActsAfterReply        *bool          `yaml:"actsAfterReply"`
	PublishesWithoutMount bool           `yaml:"publishesWithoutMount"`
}

type loggingConfig struct {
	Format logFormat  `yaml:"format"`
	Level  slog.Level `yaml:"level"`
}

// mountNamespace says which mount namespace the agent must be in.
type mountNamespace string

const (
	hostNamespace mountNamespace = "host" // that of process 1, so that everybody sees its mounts
	ownNamespace  mountNamespace = "own"  // whichever it is started in
)

// emptyDirQuota says what a sizeLimit of an emptyDir on disk means.
type emptyDirQuota string

const (
	quotaOff      emptyDirQuota = "off"     // volnode tells if it holds more
	quotaEnforced emptyDirQuota = "enforce" // a project quota of the filesystem lets it hold no more
)

// missingManifests says what it means that a manifest is missing, and the manifest directory is another one than
// before.
type missingManifests string

const (
	missingWaits missingManifests = "wait" // for its return, or for a person: volnode sources --accept
	missingGone  missingManifests = "gone" // it was removed
)

type logFormat string

const (
	logText logFormat = "text"
	logJSON logFormat = "json"
)

// size is a number of bytes, written like 4Mi.
type size int64

func (s *size) UnmarshalYAML(n *yaml.Node) error {
	q, err := resource.ParseQuantity(n.Value)
	if err != nil {
		return fmt.Errorf("%q is not a size like 4Mi", n.Value)
	}
	*s = size(q.Value())
	return nil
}

func defaultConfiguration() configuration {
	return configuration{
		NodeLabels: map[string]string{},
		RootDir:    defaultRootDir, ManifestDir: defaultManifestDir, ImageDir: defaultImageDir, Socket: defaultSocket,
		GitRepoVolumes:   []string{},
		EmptyDirQuota:    quotaOff,
		MountNamespace:   hostNamespace,
		MissingManifests: missingWaits,
		CSI: csiConfig{
			CallTimeout: 2 * time.Minute, UnstageTimeout: 30 * time.Second,
			LateWindow: 120 * time.Second,
		},
		JournalBytes:      4 << 20,
		VolumeStatsPeriod: time.Minute,
		Logging:           loggingConfig{Format: logText, Level: slog.LevelInfo},
	}
}

// Bounds of what can be configured.
const (
	minJournalBytes = 64 << 10
	maxJournalBytes = 256 << 20

	minVolumeStatsPeriod = time.Second
	maxVolumeStatsPeriod = 24 * time.Hour
	maxTimeout           = time.Hour
	// maxSocketPath is the room in sun_path (unix(7)), less its NUL.
	maxSocketPath = 107
)

// valueError is a value that can't be. Its key is spelt as in the file.
type valueError struct{ key, text string }

func (e *valueError) Error() string { return e.key + ": " + e.text }

func badValue(key, format string, args ...any) error {
	return &valueError{key, fmt.Sprintf(format, args...)}
}

// complete fills in the node's name and checks every value. What is wrong with each is a [valueError]; they are joined.
func (c *configuration) complete() error {
	if c.NodeName == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("nodeName: not set, and the host has no name: %w", err)
		}
		c.NodeName, c.isHostName = name, true
	}
	var all []error
	bad := func(key, format string, args ...any) { all = append(all, badValue(key, format, args...)) }
	if why := plugin.BadObjectName(c.NodeName); why != "" {
		bad("nodeName", "%s", plugin.Says(c.NodeName, why))
	}
	for _, label := range slices.Sorted(maps.Keys(c.NodeLabels)) {
		for _, why := range append(validation.IsQualifiedName(label),
			validation.IsValidLabelValue(c.NodeLabels[label])...) {
			bad("nodeLabels", "%s=%s: %s", label, c.NodeLabels[label], why)
		}
	}
	for _, p := range []struct{ key, path string }{
		{"rootDir", c.RootDir},
		{"manifestDir", c.ManifestDir},
		{"imageDir", c.ImageDir},
		{"flexVolumeDir", c.FlexVolumeDir},
		{"socket", c.Socket},
	} {
		switch clean := filepath.Clean(p.path); {
		case p.path == "" && p.key == "flexVolumeDir":
		case !filepath.IsAbs(p.path):
			bad(p.key, "%q is not an absolute path", p.path)
		case clean == "/":
			bad(p.key, "%q is the root of the whole host; name a directory below it", p.path)
		case clean != p.path:
			bad(p.key, "%q is not in its shortest form; write %q", p.path, clean)
		}
	}
	if len(c.Socket) > maxSocketPath {
		bad("socket", "%q is longer than the %d bytes that a socket's path may have", c.Socket, maxSocketPath)
	}
	if c.MountNamespace != hostNamespace && c.MountNamespace != ownNamespace {
		bad("mountNamespace", "%q is neither host nor own", c.MountNamespace)
	}
	if c.MissingManifests != missingWaits && c.MissingManifests != missingGone {
		bad("missingManifests", "%q is neither wait nor gone", c.MissingManifests)
	}
	if c.EmptyDirQuota != quotaOff && c.EmptyDirQuota != quotaEnforced {
		bad("emptyDirQuota", "%q is neither off nor enforce", c.EmptyDirQuota)
	}
	if c.Logging.Format != logText && c.Logging.Format != logJSON {
		bad("logging.format", "%q is neither text nor json", c.Logging.Format)
	}
	for _, scheme := range c.GitRepoVolumes {
		if !slices.Contains(hal.RepositorySchemes(), scheme) {
			bad("gitRepoVolumes", "%q is no scheme that volnode clones by; it knows %s", scheme,
				strings.Join(hal.RepositorySchemes(), " and "))
		}
	}
	if c.JournalBytes < minJournalBytes || c.JournalBytes > maxJournalBytes {
		bad("journalBytes", "%d is not between 64Ki and 256Mi", c.JournalBytes)
	}
	if p := c.VolumeStatsPeriod; p != 0 && (p < minVolumeStatsPeriod || p > maxVolumeStatsPeriod) {
		bad("volumeStatsPeriod", "%s is neither 0s, for never, nor between 1s and 24h", p)
	}
	return errors.Join(append(append(all, checkMetricsAddress(c.Metrics.Address)), c.CSI.check()...)...)
}

// checkMetricsAddress: metrics need no authentication, so only this machine may read them.
func checkMetricsAddress(address string) error {
	if address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return badValue("metrics.address", "%q is not of the form 127.0.0.1:9810", address)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return badValue("metrics.address", "%q is not a loopback address; use 127.0.0.1 or ::1", address)
	}
	return nil
}

func (c csiConfig) check() []error {
	all := checkTimes("csi", c.CallTimeout, c.UnstageTimeout, c.LateWindow)
	for _, name := range slices.Sorted(maps.Keys(c.PerDriver)) {
		d, at := c.PerDriver[name], "csi.perDriver."+name
		if bad := plugin.BadDriverName(name); bad != "" {
			all = append(all, badValue(at, "the driver's name %s", bad))
		}
		one := time.Second
		orOne := func(d *time.Duration) time.Duration {
			if d == nil {
				d = &one
			}
			return *d
		}
		all = append(all, checkTimes(at, orOne(d.CallTimeout), orOne(d.UnstageTimeout), orOne(d.LateWindow))...)
	}
	return all
}

func checkTimes(at string, call, unstage, lateWindow time.Duration) (all []error) {
	if call < time.Second || call > maxTimeout {
		all = append(all, badValue(at+".callTimeout", "%s is not between 1s and 1h", call))
	}
	if unstage < time.Second || unstage > maxTimeout {
		all = append(all, badValue(at+".unstageTimeout", "%s is not between 1s and 1h", unstage))
	}
	if lateWindow < 0 || lateWindow > maxTimeout {
		all = append(all, badValue(at+".lateWindow", "%s is not between 0s and 1h", lateWindow))
	}
	return all
}

// noLateWindow is a configured late window of zero, because a zero means the default.
const noLateWindow = time.Nanosecond

// engineConfig is the part for the engine.
func (c *configuration) engineConfig(events func([]engine.Event)) engine.Config {
	drivers := map[string]plugin.DriverConfig{}
	for name, d := range c.CSI.PerDriver {
		p := plugin.DriverConfig{PublishesWithoutMount: d.PublishesWithoutMount}
		if d.ActsAfterReply != nil {
			p.ActsAfterReply, p.TrustsAnswers = *d.ActsAfterReply, !*d.ActsAfterReply
		}
		if d.CallTimeout != nil {
			p.SetUp, p.TearDown = *d.CallTimeout, *d.CallTimeout
		}
		if d.UnstageTimeout != nil {
			p.Unstage = *d.UnstageTimeout
		}
		if d.LateWindow != nil {
			p.LateWindow = max(*d.LateWindow, noLateWindow)
		}
		drivers[name] = p
	}
	return engine.Config{
		NodeName: c.NodeName, IsNameGiven: !c.isHostName, NodeLabels: c.NodeLabels, RootDir: c.RootDir,
		Adopt:         c.adopt,
		AcceptMachine: c.acceptMachine,
		PodUID: func(node, namespace, name string) core.PodUID {
			return core.PodUID(manifest.PodUID(node, namespace, name))
		},
		FlexVolumes: c.FlexVolumeDir != "", RepositorySchemes: c.GitRepoVolumes,
		HoldsLimits: c.EmptyDirQuota == quotaEnforced,
		NoRuntime:   true, CallTimeout: c.CSI.CallTimeout, UnstageTimeout: c.CSI.UnstageTimeout,
		LateWindow: max(c.CSI.LateWindow, noLateWindow), Drivers: drivers,
		JournalBytes: int64(c.JournalBytes), MeasureEvery: c.VolumeStatsPeriod,
		Events: events, EventLevel: c.Logging.eventLevel(),
	}
}

// lateWindow is how long the answer of a call that is over time is of use: until the longest late window has passed.
func (c *configuration) lateWindow() time.Duration {
	longest := max(c.CSI.LateWindow, time.Second)
	for _, d := range c.CSI.PerDriver {
		if d.LateWindow != nil {
			longest = max(longest, *d.LateWindow)
		}
	}
	return longest
}
