package minimise

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"

	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/verdict"
	"github.com/volnode/volnode/scenarios/world"
)

// This file tells choices in words, and a finding in one sentence.

// text says what a choice of a case does.
func (n *names) text(c cases.Case, k cases.Kept) string {
	what := n.what(c, k)
	for _, t := range c.Keep {
		isOfIt := t.Time && t.ID.Object == k.ID.Object && t.ID.Nth == k.ID.Nth
		if isOfIt && t.ID.Site == "workload.time" && k.ID.Site == "workload.pod" {
			what += " at " + slotTime(c, t).String()
		} else if isOfIt && k.Fault != sim.NoFault && t.ID.Site == strings.TrimSuffix(k.ID.Site, "fault")+"late" &&
			t.Value >= int64(time.Second) {
			what += " (" + time.Duration(t.Value).Round(time.Second).String() + " later)"
		}
	}
	return what
}

// slotTime is when a pod does something.
func slotTime(c cases.Case, t cases.Kept) time.Duration {
	window := cases.Chaos / cases.Slots
	if c.Setup().Nervous {
		window /= 3
	}
	return (time.Duration(t.ID.Nth)*window + time.Duration(t.Value)).Round(time.Second)
}

func (n *names) what(c cases.Case, k cases.Kept) string {
	if k.Fault != sim.NoFault {
		return n.faultText(k.Fault, k.ID)
	}
	object := k.ID.Object
	switch k.ID.Site {
	case "workload.pod":
		return object + " is " + flips(c, k)
	case "workload.volume":
		return object + " uses " + world.VolumeOfHunt(int(k.Value))
	case "workload.more":
		return object + " also uses " + world.VolumeOfHunt(int(k.Value)-1)
	case "workload.rare":
		return object + " has " + [...]string{
			"", "a raw block volume", "a volume whose claim is ReadWriteOncePod", "an inline volume",
			"a directory of the host",
		}[min(k.Value, 4)]
	case "workload.uid":
		return object + " comes back with another uid"
	case "workload.manifest":
		return object + [...]string{
			"", " is renamed", " gets another uid",
			" and another pod swap their names",
		}[min(k.Value, 3)]
	case "workload.directory":
		return "the directory of manifests " + [...]string{
			"", "is covered by an empty filesystem", "is covered while the agent is away",
			"has a file that nobody understands", "is emptied",
		}[min(k.Value, 4)]
	case "workload.file":
		return "the manifest of " + object + [...]string{
			"", " is replaced by a directory for a while",
			" gets another name",
		}[min(k.Value, 2)]
	case "workload.export":
		return object + " and its claim are exported again, with other uids"
	case "workload.end":
		return object + " is deleted " + [...]string{
			"by force", "gracefully",
			"while the agent is away",
		}[min(k.Value, 2)]
	case "workload.again":
		return object + " is there again when the agent comes back"
	case "workload.server":
		return "the volumes of driver " + object + " are those of a server" +
			[...]string{"", "", ", without staging"}[min(k.Value, 2)]
	case "workload.host-share":
		return "the host mounts " + object + " from a server"
	case "workload.pv":
		return "the object " + object + " is edited"
	case "workload.driver":
		return "driver " + object + " is restarted"
	case "workload.nodes":
		return "a driver attaches its volumes: " + map[bool]string{true: "disk.example", false: object}[object == ""]
	case "workload.move":
		return object + " goes to another node" + [...]string{"", "", " while the agent is kept away"}[min(k.Value, 2)]
	case "workload.crowd":
		return "a crowd of pods comes in calm, and what a change costs is compared"
	case "workload.broken":
		return "driver " + [...]string{"", "disk.example", "file.example"}[min(k.Value, 2)] + " stays broken"
	case "workload.kind":
		return "driver " + object + " " + [...]string{
			"", "has no staging",
			"is of block devices, without staging",
		}[min(k.Value, 2)]
	}
	return cmp.Or(world.Chosen(k.ID.Site, object, k.Value), plain(k.ID.Site, object, k.Value),
		fmt.Sprintf("%s %s is %d", k.ID.Site, n.name(object), k.Value))
}

// flips: a pod that does something for the first time is created, then deleted, then created again.
func flips(c cases.Case, k cases.Kept) string {
	if k.Value == 2 {
		return "edited"
	}
	before := 0
	for _, o := range c.Keep {
		if o.ID.Site == k.ID.Site && o.ID.Object == k.ID.Object && o.Value == 1 && o.ID.Nth < k.ID.Nth {
			before++
		}
	}
	return [...]string{"created", "deleted", "created again"}[min(before, 2)]
}

// summary is one sentence: what happens, and why what follows is wrong.
func (n *names) summary(c cases.Case, v *verdict.Violation) string {
	var happens []string
	for _, k := range c.Choices() {
		happens = append(happens, n.text(c, k))
	}
	if c.Scenario != nil && len(happens) == 0 {
		happens = append(happens, "in "+c.Scenario.Name)
	}
	text := n.sentence(v.Story)
	if len(happens) > 0 {
		text = strings.Join(happens, ", ") + ": then " + text
	}
	for _, p := range verdict.Properties {
		if p.Code == v.Property && p.Code != "expect" { // the story says it all
			text += "; but " + p.Text + " (" + p.Code + ")"
		}
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// texts are choices that mean one thing, or one for each value from 1; %s is the object.
var texts = map[string][]string{
	"workload.asks":       {"somebody asks the engine all there is to ask"},
	"workload.content":    {"%s is changed", "%s is removed", "%s is in a file that nobody understands for a while"},
	"workload.contents":   {"people change Secrets and ConfigMaps"},
	"workload.group":      {"%s has the fsGroup 2000", "%s has the fsGroup 2001"},
	"workload.user":       {"the containers of %s run as user 1000"},
	"workload.places":     {"%s makes device nodes for raw blocks"},
	"workload.tokens":     {"%s wants tokens in the volume context", "%s wants tokens among the secrets"},
	"workload.group-edit": {"the fsGroup of %s is edited"},
	"workload.groups":     {"pods may have an fsGroup"},
	"workload.measures":   {"volumes are asked how full they are"},
	"workload.quotas": {
		"quotas hold emptyDirs to their limits", "quotas are to hold emptyDirs to their limits, and the disk has none",
	},
	"workload.projects":   {"somebody uses a project of agents"},
	"workload.misplaced":  {"%s is in a file that nobody understands for a while"},
	"workload.in-tree":    {"the driver of awsElasticBlockStore serves this node"},
	"workload.persistent": {"directories, disks and exports have PersistentVolumes"},
	"workload.renews":     {"driver %s wants its publishes repeated"},
	"workload.rewritten":  {"the manifest of %s is removed and written again"},
	"workload.takes":      {"the containers of %s make its emptyDirs their own"},
	"workload.told":       {"driver %s is told of its pods"},
	"workload.writes":     {"the containers of %s write"},
	"world.disk": {
		"a power cut takes the newest changes", "a power cut may leave names without content",
		"a power cut may take any change by itself", "a power cut takes all that was not synced",
	},
}

// plain is the text of such a choice, "" of another one.
func plain(site, object string, value int64) string {
	of := texts[site]
	switch {
	case site == "workload.groups" && object != "":
		return "driver " + object + " gives files to a group"
	case value < 1 || value > int64(len(of)):
		return ""
	}
	return strings.ReplaceAll(of[value-1], "%s", object)
}
