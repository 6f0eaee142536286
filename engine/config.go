package engine

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

// Config is what the operator decides. The zero value of a field means its default.
type Config struct {
	// NodeName is the node's name at a first start. Later starts take it from the identity file; see
	// [VolumeManager.NodeName].
	NodeName string
	// IsNameGiven: a person gave NodeName. A start refuses one that is not the identity file's. Else NodeName is the
	// host's name, which may change.
	IsNameGiven bool
	// NodeLabels are the node's labels, for the node affinity of PersistentVolumes. Its host name is one without being
	// given, and what a driver says of where the node is counts for the driver's volumes. It is not changed.
	NodeLabels map[string]string
	RootDir    string // absolute, no symbolic links in it
	// Adopt: a person has seen what a start would take over of another agent's root directory, and wants it.
	Adopt bool
	// AcceptMachine: a person says that this machine now owns the root directory, whatever machine-id the identity file
	// has.
	AcceptMachine bool
	// PodUID is the uid that a source gives to a pod without one; nil if no source does.
	PodUID func(node, namespace, name string) core.PodUID
	// NoRuntime: the host has no container runtime, so a pod that is removed has no containers left, and neither has a
	// pod that is known only from the journal once every source is synced and does not name it.
	NoRuntime bool

	// FlexVolumes: the host runs FlexVolume drivers. Without it, volumes of them are refused.
	FlexVolumes bool
	// VolumeSources are the volume sources that the engine serves. The first that serves a volume has it, so a program
	// puts its own before [kinds.All], which is the default. If two have one name of a plugin or of a kind, Run returns a
	// [*Refusal].
	VolumeSources kinds.Table
	// RepositorySchemes are the schemes of URLs that volumes of the source gitRepo may have: see
	// [hal.RepositorySchemes]. Default: none, and so no such volumes.
	RepositorySchemes []string
	// HoldsLimits: a project quota of the filesystem holds each emptyDir on disk to its sizeLimit. Else volnode looks from
	// time to time what it holds.
	HoldsLimits bool
	// Sources are the cluster's sources; nothing is torn down before each of them is synced. Default: "manifest".
	Sources []hal.Source

	CallTimeout    time.Duration // of CSI calls but NodeUnstageVolume; default 2 min
	UnstageTimeout time.Duration // default 30 s
	LateWindow     time.Duration // the late window of CSI drivers; default 120 s
	// Drivers overrides the above for single drivers, by name.
	Drivers map[string]plugin.DriverConfig
	// JournalBytes is the size of each of the journal's two files at first; default 4 MiB. They grow up to JournalMost,
	// as records need and while the disk has room; default 256 MiB.
	JournalBytes, JournalMost int64
	// MeasureEvery is how often each volume of a claim is asked how full it is; 0 is never.
	MeasureEvery time.Duration
	// InFlight is how many operations of one driver, or of volnode itself, run at a time; default [core.MaxInFlight].
	// One that takes long is not counted.
	InFlight int
	// Events takes what happens, in order; nil discards. It runs on a task, one call at a time, and the engine does not
	// wait for it: while it takes its time, 4096 events wait, and those beyond are dropped and counted.
	Events func([]Event)
	// EventLevel is the least level of the events that Events and Happening get. Default: [LevelInfo].
	EventLevel Level
	// Happening is called on the owner with each event as it comes, before Events has it; nil for nobody. It looks and
	// changes nothing: the simulator judges by it.
	Happening func(Event)
	// Stepped is called on the owner after each step of core, before what it asks for is carried out; nil for nobody.
	// It looks and changes nothing: the simulator compares beliefs with the truth by it.
	Stepped func(*core.Core)
	// Stepping is called on the owner before each step of core, with what it is about to take in; nil for nobody. It
	// looks and changes nothing.
	Stepping func(*core.Core, core.Event)
}

const dirMode = 0o750

// dirs are the directories below the root that a start makes. They are not synced: what is below them ends with the
// boot. The journal makes its own.
func (c *Config) dirs() []string {
	return []string{path.Join(c.RootDir, "pods"), path.Join(c.RootDir, "plugins"), c.registryDir()}
}

func (c *Config) journalDir() string  { return path.Join(c.RootDir, "volnode", "journal") }
func (c *Config) registryDir() string { return path.Join(c.RootDir, "plugins_registry") }

func (c *Config) isBelowRoot(at string) bool { return strings.HasPrefix(at, c.RootDir+"/") }

func (c Config) withDefaults() Config {
	setDefault(&c.CallTimeout, 2*time.Minute)
	setDefault(&c.UnstageTimeout, 30*time.Second)
	setDefault(&c.LateWindow, 120*time.Second)
	setDefault(&c.JournalBytes, 4<<20)
	setDefault(&c.JournalMost, journal.MaxSize)
	if c.VolumeSources == nil {
		c.VolumeSources = kinds.All()
	}
	if len(c.Sources) == 0 {
		c.Sources = []hal.Source{"manifest"}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// driverConfig is what the operator says of one driver, defaults filled in.
func (c *Config) driver(name string) plugin.DriverConfig {
	d := c.Drivers[name]
	setDefault(&d.SetUp, c.CallTimeout)
	setDefault(&d.TearDown, c.CallTimeout)
	setDefault(&d.Unstage, c.UnstageTimeout)
	setDefault(&d.LateWindow, c.LateWindow)
	return d
}

// latestSetUp bounds how long after an agent has died a setup that it sent may act.
func (c *Config) latestSetUp() time.Duration {
	latest := c.CallTimeout + c.LateWindow
	for _, name := range slices.Sorted(maps.Keys(c.Drivers)) {
		d := c.driver(name)
		latest = max(latest, d.SetUp+d.LateWindow)
	}
	return latest
}

// forgiven returns the drivers that the operator trusts not to act after they answer, sorted.
func (c *Config) forgiven() []string {
	names := slices.Sorted(maps.Keys(c.Drivers))
	return slices.DeleteFunc(names, func(name string) bool { return !c.Drivers[name].TrustsAnswers })
}
