package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/minimise"
	"github.com/volnode/volnode/scenarios/verdict"
)

// This file is the picture of one finding.

// card is a finding as the page shows it.
type card struct {
	ID          string
	Finding     *minimise.Finding
	Property    string // its text
	Where       string
	Picture     picture
	Rows        []row
	BrokenAt    string
	BrokenWhere string
	Frames      []minimise.Frame
	Last        int // of Frames
}

// row is a line of the timeline.
type row struct {
	minimise.Line
	Kind    string
	Seconds string
}

const (
	laneHeight = 38
	laneNames  = 270 // wide
	step       = 36  // from one event to the next
)

type picture struct {
	Width, Height, LaneHeight, Cursor, Step, TickY int
	Lanes                                          []lane
	Marks                                          []mark
	Arrows                                         []string
	Ticks                                          []tick
}

type lane struct {
	Kind, Name string
	Top, Y     int
}

type mark struct {
	X, Y, Number int
	Kind, Title  string
}

type tick struct {
	At   int
	Text string
}

func newCard(id string, f *minimise.Finding) card {
	c := card{ID: id, Finding: f, Frames: f.Frames, Last: max(len(f.Frames)-1, 0), BrokenWhere: f.Subject}
	for _, p := range verdict.Properties {
		if p.Code == f.Property {
			c.Property = p.Text
		}
	}
	c.Where = f.From()
	if f.Scenario != "" {
		c.Where = "scenario " + c.Where
	}
	c.Where += fmt.Sprintf("; at %s; %d of %s left after %s; %d of 3 replays equal", f.Violation.Site, len(f.Choices),
		Count(f.Total, "choice"),
		Count(f.Runs, "run"), f.Equal)
	if f.StoppedEarly {
		c.Where += "; shrinking was stopped early"
	}
	for _, l := range f.Lines {
		c.Rows = append(c.Rows, row{l, kindOf(l.Sign), secondsOf(l.At)})
	}
	c.BrokenAt = secondsOf(f.Violation.At)
	c.Picture = draw(f)
	return c
}

func secondsOf(at hal.Instant) string { return fmt.Sprintf("%.6f", float64(at)/1e9) }

// kindOf is what a line is, by its sign.
func kindOf(sign string) string {
	switch sign {
	case ">":
		return "call"
	case "*":
		return "effect"
	case "<":
		return "reply"
	case "!":
		return "fault"
	}
	return "event"
}

// kinds of lanes, from the top.
var laneKinds = []string{"pod", "volume", "driver", "cluster", "node"}

// draw makes the lanes, and in each what happened there: one step for each line, as times are from microseconds to
// minutes.
func draw(f *minimise.Finding) picture {
	n := names(f)
	all := make([]lane, len(f.Lines))
	for i, l := range f.Lines {
		all[i] = n.laneOf(l)
	}
	broken := n.laneOfObject(f.Subject)
	p := picture{LaneHeight: laneHeight, Cursor: laneNames, Step: step, Lanes: slices.Clone(append(all, broken))}
	slices.SortStableFunc(p.Lanes, func(a, b lane) int {
		if a.Kind != b.Kind {
			return slices.Index(laneKinds, a.Kind) - slices.Index(laneKinds, b.Kind)
		}
		return strings.Compare(a.Name, b.Name)
	})
	p.Lanes = slices.Compact(p.Lanes)
	at := map[lane]int{}
	for i, l := range p.Lanes {
		p.Lanes[i].Top = i * laneHeight
		p.Lanes[i].Y = i*laneHeight + laneHeight/2
		at[l] = p.Lanes[i].Y
	}
	for i, l := range f.Lines {
		p.Marks = append(p.Marks, mark{
			column(i), at[all[i]], l.Number, kindOf(l.Sign),
			fmt.Sprintf("%d, %s s: %s %s", l.Number, secondsOf(l.At), l.Lane, l.Event),
		})
	}
	p.Marks = append(p.Marks, mark{
		column(len(f.Lines)), at[broken], 0, "broken",
		fmt.Sprintf("%s s: %s is broken", secondsOf(f.Violation.At), f.Property),
	})
	p.Arrows = arrows(f.Lines, p.Marks)
	p.Ticks = ticks(f)
	p.TickY = len(p.Lanes)*laneHeight + 16
	p.Width, p.Height = column(len(f.Lines))+step, p.TickY+10
	return p
}

func column(i int) int { return laneNames + i*step + step/2 }

// arrows lead from causes to what they led to.
func arrows(lines []minimise.Line, marks []mark) []string {
	const reach = 14 // of a mark
	byNumber := map[int]mark{}
	for _, m := range marks {
		byNumber[m.Number] = m
	}
	var all []string
	for i, l := range lines {
		from, ok := byNumber[l.Cause]
		if !ok || l.Cause == 0 || l.Cause == l.Number {
			continue
		}
		to := marks[i]
		switch {
		case from.Y == to.Y && to.X-from.X == step:
			all = append(all, fmt.Sprintf("M%d %dH%d", from.X+reach-3, from.Y, to.X-reach+1))
		case from.Y == to.Y:
			all = append(all, fmt.Sprintf("M%d %dQ%d %d %d %d", from.X, from.Y-reach+2, (from.X+to.X)/2,
				from.Y-laneHeight+6, to.X-4, to.Y-reach+1))
		default:
			side := reach
			if from.Y > to.Y {
				side = -reach
			}
			all = append(all, fmt.Sprintf("M%d %dC%d %d %d %d %d %d", from.X, from.Y+side, from.X, (from.Y+to.Y)/2,
				to.X, (from.Y+to.Y)/2, to.X, to.Y-side))
		}
	}
	return all
}

// ticks are times, where they change much.
func ticks(f *minimise.Finding) []tick {
	var all []tick
	last := -2
	for i, l := range f.Lines {
		if i > 0 && l.At-f.Lines[i-1].At < hal.Instant(1e8) || i-last < 2 {
			continue
		}
		last = i
		all = append(all, tick{column(i), fmt.Sprintf("%.1f s", float64(l.At)/1e9)})
	}
	return all
}

// namer knows what the names of a finding are names of.
type namer struct {
	pods, volumes, drivers map[string]bool
}

var podName = regexp.MustCompile(`\bpod (\S+)`)

func names(f *minimise.Finding) *namer {
	n := &namer{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, l := range f.Lines {
		if m := podName.FindStringSubmatch(l.Event); m != nil && l.Lane == "api" {
			n.pods[m[1]] = true
		}
	}
	for _, frame := range f.Frames {
		for _, r := range frame.Rungs {
			kind, rest, _ := strings.Cut(string(r.Key), "/")
			driver, _, isCSI := strings.Cut(rest, "^")
			if !isCSI {
				continue
			}
			n.drivers[driver] = true
			if kind == "csi.stage" {
				n.volumes[r.Name] = true
			}
		}
	}
	return n
}

// laneOf is where a line belongs: with a pod, a volume, a driver, the cluster or the node.
func (n *namer) laneOf(l minimise.Line) lane {
	switch {
	case l.Lane == "agent" || l.Lane == "node":
		return lane{Kind: "node", Name: l.Lane}
	case l.Lane == "api":
		if m := podName.FindStringSubmatch(l.Event); m != nil {
			return lane{Kind: "pod", Name: m[1]}
		}
		return lane{Kind: "cluster", Name: "API objects"}
	case l.Event == "up" || l.Event == "down" || l.Event == "replaced":
		return lane{Kind: "driver", Name: l.Lane}
	}
	return n.laneOfObject(l.Lane)
}

// laneOfObject is where what has a name belongs: disk:vol-1 is a volume, disk:vol-1@web and web/scratch are of the pod
// web.
func (n *namer) laneOfObject(object string) lane {
	if _, pod, ok := strings.Cut(object, "@"); ok {
		return lane{Kind: "pod", Name: pod}
	}
	first, _, _ := strings.Cut(object, "/")
	switch {
	case n.pods[first]:
		return lane{Kind: "pod", Name: first}
	case n.volumes[object]:
		return lane{Kind: "volume", Name: object}
	case n.drivers[object]:
		return lane{Kind: "driver", Name: object}
	}
	return lane{Kind: "node", Name: "agent's files"}
}
