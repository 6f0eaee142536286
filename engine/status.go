package engine

import (
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Condition is a state that a person sees, of a rung, a volume or a pod. A volume has the worst of its rungs', a pod of
// its volumes'.
type Condition string

// The conditions, best first.
const (
	Gone      Condition = "Gone"      // nothing of it is left
	Ready     Condition = "Ready"     // up, as wanted
	Degraded  Condition = "Degraded"  // up, with something missing, or not yet as it was edited to be
	Working   Condition = "Working"   // an operation is in flight, or the next starts at once
	Waiting   Condition = "Waiting"   // for a time (backoff, the bound of a call) or for a rung below
	Uncertain Condition = "Uncertain" // a call without a known end may still act
	Blocked   Condition = "Blocked"   // until something named changes
	Stuck     Condition = "Stuck"     // a call is overdue, a teardown is refused for good, or an operation panicked
)

// Status is a snapshot of everything, sorted by name.
type Status struct {
	Node string `json:"node"`
	// Starting: volnode has not read the node yet. It does not know what is up, and nothing below shows it.
	Starting bool            `json:"starting,omitempty"`
	Synced   bool            `json:"synced"` // every source has said all it knows
	Pods     []PodStatus     `json:"pods"`
	Rungs    []RungStatus    `json:"rungs"` // all of them, those no pod wants included
	Drivers  []DriverStatus  `json:"drivers"`
	Sources  []SourceTrouble `json:"sources,omitempty"` // files and objects that can't be used
	Journal  JournalStatus   `json:"journal"`
	// Defects is how many defects of its own volnode has found: the log has each of them.
	Defects int `json:"defects,omitempty"`
}

// PodStatus is one pod.
type PodStatus struct {
	UID       core.PodUID    `json:"uid"`
	Namespace string         `json:"namespace,omitempty"` // "" for a pod that only the node itself shows
	Name      string         `json:"name,omitempty"`
	State     Condition      `json:"state"`
	Wanted    bool           `json:"wanted"`
	Volumes   []VolumeStatus `json:"volumes"`
	// Groups are those that its containers need beside its own, as the PersistentVolumes say that are up.
	Groups []int64 `json:"supplementalGroups,omitempty"`
	// Events are the last that have happened to its volumes, the latest at the end.
	Events []PodEventStatus `json:"events,omitempty"`
}

// VolumeStatus is one volume of a pod.
type VolumeStatus struct {
	// Name is spec.volumes[].name, or what is left to name it by once no manifest names its pod: the
	// PersistentVolume's.
	Name string `json:"name"`
	PV   string `json:"persistentVolume,omitempty"` // its PersistentVolume, if it has one
	// Claim is the PersistentVolumeClaim that it stands for, as namespace/name; "" for none.
	Claim string    `json:"persistentVolumeClaim,omitempty"`
	State Condition `json:"state"`
	// Path is where the pod finds it; "" until known.
	Path string    `json:"path,omitempty"`
	Why  string    `json:"why,omitempty"`
	Keys []hal.Key `json:"rungs,omitempty"` // its ladder, top first
	// Usage is how full it is, of a volume of a claim, and of one with a limit that nothing else looks after; nil until
	// somebody has been asked, and if nobody can say.
	Usage *Usage `json:"usage,omitempty"`
	// Health is what its driver says is wrong with it, of a volume of a claim, or what the node knows of its disk; nil
	// until something was said.
	Health *Health `json:"health,omitempty"`
}

// Health is what a driver, or the node, says is wrong with a volume.
type Health struct {
	Problems []hal.HealthEntry `json:"problems,omitempty"` // none: nothing is wrong
	Age      time.Duration     `json:"ageNanoseconds"`     // since it was said
	Why      string            `json:"why,omitempty"`      // why nothing was said
}

// Usage is how full a volume is.
type Usage struct {
	Bytes  *Amount       `json:"bytes,omitempty"` // nil if nobody says
	Inodes *Amount       `json:"inodes,omitempty"`
	Age    time.Duration `json:"ageNanoseconds"` // since it was said
	Why    string        `json:"why,omitempty"`  // why nothing was said, or what is wrong with it
}

// Amount is how much there is of something.
type Amount struct {
	Total     int64 `json:"total"`
	Available int64 `json:"available"`
	Used      int64 `json:"used"`
}

// RungStatus is one rung: what is known, what is under way, since when, why, and what comes next.
type RungStatus struct {
	Key         hal.Key       `json:"key"`
	Kind        core.Kind     `json:"kind"`
	Pod         core.PodUID   `json:"pod,omitempty"`
	Volume      string        `json:"volume,omitempty"`
	State       Condition     `json:"state"`
	Actual      string        `json:"actual"`  // Unknown, Absent, Present
	Desired     string        `json:"desired"` // wanted, held, unwanted
	Fingerprint string        `json:"fingerprint,omitempty"`
	Step        string        `json:"step,omitempty"`           // the operation in flight: "#7 teardown csi/…"
	Age         time.Duration `json:"ageNanoseconds,omitempty"` // of the step
	Attempts    int           `json:"attempts,omitempty"`       // failed in a row
	Why         string        `json:"why,omitempty"`
	Next        string        `json:"next,omitempty"` // "retry in 4s", "when driver x registers"
	Below       []hal.Key     `json:"below,omitempty"`
}

// DriverStatus is one CSI driver whose registration socket is there, or, without a Socket, one that has volumes up all
// the same.
type DriverStatus struct {
	Name     string `json:"name"`
	Socket   string `json:"socket"`
	Endpoint string `json:"endpoint,omitempty"`
	// its registration is in force: the socket is there, and it serves the driver
	Registered bool `json:"registered"`
	Connected  bool `json:"connected"`         // the process that was met last can be called
	Waiting    bool `json:"waiting,omitempty"` // another socket serves the driver
	// ActsAfterReply: it was seen to act after it had answered a call, or is configured so: none of its errors ends a
	// call.
	ActsAfterReply bool   `json:"actsAfterReply,omitempty"`
	NodeID         string `json:"nodeID,omitempty"`
	// Since is for how long it has been connected, or not connected, or has waited.
	Since         time.Duration `json:"sinceNanoseconds,omitempty"`
	LastAnswer    string        `json:"lastAnswer,omitempty"` // to any call: "NodeStageVolume: OK"
	LastAnswerAge time.Duration `json:"lastAnswerAgeNanoseconds,omitempty"`
	// not connected, or not registered: what failed last, and what comes next
	Why string `json:"why,omitempty"`
	// Storage is what it says of the storage behind it; nil if it can't say, or was not asked yet.
	Storage *Health `json:"storage,omitempty"`
}

// SourceTrouble is one file or object that can't be used as it is.
type SourceTrouble struct {
	Source hal.Source `json:"source"`
	Where  string     `json:"where"`
	Why    string     `json:"why"`
	// Where is a pod that is not torn down, as it is not known whether somebody still wants it
	Held   bool `json:"held,omitempty"`
	Accept bool `json:"accept,omitempty"` // Where is kept until a person accepts that it is gone
	// Where could not be looked at: volumes may be there, and volnode looks again
	Hidden bool `json:"hidden,omitempty"`
}

// JournalStatus is the journal's own state.
type JournalStatus struct {
	Records int   `json:"records"`
	Bytes   int64 `json:"bytes"`
	Size    int64 `json:"size"`
	// Damage is what the start could not read of it.
	Damage []string `json:"damage,omitempty"`
	// what it cannot do at present; before core has begun, why the start cannot get on
	Why string `json:"why,omitempty"`
}
