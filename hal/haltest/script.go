package haltest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// run is one script on one world.
type run struct {
	world World
	host  hal.Host
	names numbering
	holds map[string]func()
	late  bool // the present operation's deadline has passed
	// inside is the mount that the present operation goes into.
	inside hal.Inside
	disks  map[string]*disk
	// urls are those of repositories, by their names.
	urls map[string]string
	san  sanNames
}

// disk is one by its name, as Probe has found it last.
type disk struct {
	path  string
	found hal.BlockDevice
}

// Run executes a script on a fresh world and returns its history. With states the state is shown after each operation,
// else after the last.
//
//	mkdir P [MODE]      rm P        rmtree P [LIMIT]          mv P Q      ls P        stat P        chain P DEPTH
//	write P DATA [MODE] writeat P OFFSET DATA    alloc P SIZE [MODE]      read P [LIMIT]   sync P
//	mount TYPE P [SOURCE|disk:NAME] [flag,flag] [key=value,key]         bind S P [ro]
//	umount P [bottom|wrong]         at P         table       within P
//	type P              make P dir|file          hold P       release P   link TARGET P
//	symlink TARGET P    readlink P               chown P [UID] [GID]         chmod P [MODE]     count P
//	image NAME [FILE TEXT]…  damage NAME         unpack NAME P
//	repository NAME TAG|- [FILE TEXT]…           clone NAME|URL TAG|- P [BELOW] [GROUP]
//	driver NAME MANNER       undriver NAME       flexinit NAME
//	flexmount NAME P [key=value]…                flexunmount NAME P
//	limit P BYTES [PROJECT]  lift P [PROJECT]    quota P      uses PROJECT directory|limit P
//	disk NAME blank|junk|TYPE [UUID]             probe|identify NAME|P format NAME TYPE UUID [begun|other]
//	spoil NAME dirty|mendable|grave  mend NAME   check NAME TYPE UUID [other]
//	target NAME PORTAL…      admit NAME [as=INITIATOR] [chap=USER:SECRET] [back=USER:SECRET]
//	map NAME LUN DISK|-      portal N down|dead|up            records
//	login SESSION [from=NAME] [as=INITIATOR] [chap=USER:SECRET] [back=USER:SECRET]
//	logout SESSION [zero|first|of=SESSION]       sessions
//	scan SESSION LUN         luns SESSION        forget SESSION LUN [now] [other]
//	says SESSION:LUN         claim SESSION:LUN   unclaim SESSION:LUN
//	multipathd on|greedy|off|again               kept        grow DISK   unplug SESSION:LUN     device NAME
//	assemble SESSION:LUN[~]…                     maps        await DISK ACTIVE FAILED           await DISK gone
//	remove DISK [now] [other]                    resize DISK [other]     failqueued DISK [other]
//	mapsays DISK
//	fcport N                 fcmap N LUN DISK|-  plug N       cable down|failed|gone|up
//	fchosts                  fcports             scan fcN LUN [elsewhere]            named DISK
//
// Paths are relative to the world's directory, "." is the directory itself, and one that begins with / is taken as it
// is. "-" stands for an empty word. "late" before an operation of the host gives it a deadline that has passed. "in P"
// has it go into the mount at P, the top one, and "in P bottom" into the one below all others there. NAME~ is a
// repository that the server of NAME does not have. PROJECT is a number that counts from the first one of agents.
// SESSION is TARGET@PORTAL, or TARGET@PORTAL/INTERFACE; "none" stands for one whose host is not there. A disk that luns
// has listed has the name SESSION:LUN, and a map that maps has listed map:DISK. For a SESSION, "fcN" stands for the
// port N of a target of Fibre Channel.
func Run(w World, script []string, states bool) []string {
	var history []string
	w.Do(func() {
		r := &run{
			world: w, host: w.Host(), holds: map[string]func(){}, disks: map[string]*disk{}, urls: map[string]string{},
			san: newSANNames(),
		}
		r.names.learn(r)
		for i, line := range script {
			result, data := r.step(line)
			history = append(history, "> "+line, "  "+result)
			history = append(history, indent(data)...)
			if states || i == len(script)-1 {
				history = append(history, indent(r.state())...)
			}
		}
		for _, release := range r.holds {
			release()
		}
	})
	return history
}

func indent(lines []string) []string {
	indented := make([]string, len(lines))
	for i, l := range lines {
		indented[i] = "    " + l
	}
	return indented
}

// step runs one line.
func (r *run) step(line string) (result string, data []string) {
	words := strings.Fields(line)
	if r.late = words[0] == "late"; r.late {
		words = words[1:]
	}
	r.inside = hal.Inside{}
	if words[0] == "in" {
		words = r.goInside(words[1:])
	}
	do, known := verbs[words[0]]
	if !known {
		panic("haltest: no such operation: " + line)
	}
	data, err := do(r, args(words[1:]))
	if table, tableErr := r.host.Mounts.Table(hal.Call{}); tableErr == nil {
		r.names.forget(table)
	}
	return resultOf(err), data
}

// goInside takes the mount that an operation goes into from the words before it. One that is none has an id that no
// mount has.
func (r *run) goInside(words []string) []string {
	at := r.path(words[0])
	words = words[1:]
	stack, _ := r.host.Mounts.At(hal.Call{}, at)
	r.inside = hal.Inside{Path: at, ID: noMount}
	if len(stack) > 0 {
		r.inside.ID = stack[len(stack)-1].ID
	}
	if words[0] == "bottom" {
		words = words[1:]
		if len(stack) > 0 {
			r.inside.ID = stack[0].ID
		}
	}
	return words
}

// noMount is an id that no mount has.
const noMount hal.MountID = 1 << 62

func (r *run) call() hal.Call {
	c := hal.Call{Inside: r.inside}
	if r.late {
		c.Deadline = r.host.Runtime.Now() - 1
	}
	return c
}

// resultOf shows the errno and the outcome; the texts of errors are each backend's own.
func resultOf(err error) string {
	if err == nil {
		return "ok"
	}
	name := "no errno"
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		name = unix.ErrnoName(errno)
	}
	return fmt.Sprintf("%s (%s)", name, hal.OutcomeOf(err))
}

// args are the words after the verb.
type args []string

func (a args) at(i int) string {
	if i >= len(a) || a[i] == "-" {
		return ""
	}
	return a[i]
}

// number reads word i, octal after a 0.
func (a args) number(i int, otherwise int64) int64 {
	if a.at(i) == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(a[i], 0, 64)
	if err != nil {
		panic("haltest: " + err.Error())
	}
	return n
}

// path makes word i absolute.
func (r *run) path(word string) string {
	switch {
	case word == ".":
		return r.world.Dir()
	case strings.HasPrefix(word, "/"):
		return word
	}
	return r.world.Dir() + "/" + word
}
