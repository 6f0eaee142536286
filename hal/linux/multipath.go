package linux

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// multipath is hal.Multipath. Who needs an answer of the kernel alone asks sysfs and the device mapper; multipathd(8)
// makes maps.
type multipath struct{ host *Host }

func (m *multipath) Maps(c hal.Call) (all []hal.MultipathMap, err error) {
	err = m.host.within(c, hal.ClassSyscall, "multipath maps", "", func() error {
		if all, err = mapsIn("/sys"); err != nil {
			return failure(hal.ClassSyscall, "multipath maps", "", err)
		}
		return nil
	})
	return all, err
}

func (m *multipath) Assemble(c hal.Call, disks []hal.SCSIDisk) error {
	const op = "multipath assemble"
	object := hal.WWIDOf(disks)
	return m.host.within(c, hal.ClassHelper, op, object, func() error {
		if err := checkPaths(disks); err != nil {
			return failure(hal.ClassHelper, op, object, err)
		}
		_, err := m.host.help(c, hal.ClassHelper, op, object, request{Assemble: disks})
		return err
	})
}

func (m *multipath) Remove(c hal.Call, is hal.MultipathMap, flush bool) error {
	return m.change(c, "multipath remove", mapRequest{Map: is, Remove: true, Flush: flush})
}

func (m *multipath) Resize(c hal.Call, is hal.MultipathMap) error {
	return m.change(c, "multipath resize", mapRequest{Map: is, Resize: true})
}

func (m *multipath) FailQueued(c hal.Call, is hal.MultipathMap) error {
	return m.change(c, "multipath fail", mapRequest{Map: is})
}

// change has a helper child do something to a map.
func (m *multipath) change(c hal.Call, op string, r mapRequest) error {
	return m.host.within(c, hal.ClassHelper, op, r.Map.UUID, func() error {
		_, err := m.host.help(c, hal.ClassHelper, op, r.Map.UUID, request{Map: &r})
		return err
	})
}

// mapRequest is what is to be done to a map: one of Remove and Resize, or it is to queue no more.
type mapRequest struct {
	Map            hal.MultipathMap
	Remove, Resize bool
	Flush          bool // with Remove
}

const (
	mapPrefix = "mpath-" // of the UUIDs of maps

	removeTries, removePause = 30, 100 * time.Millisecond
)

func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

// mapsIn reads sysfs, and asks the device mapper. Maps come and go meanwhile.
func mapsIn(sys string) (all []hal.MultipathMap, err error) {
	names, err := namesIn(sys + "/block")
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(attribute(sys+"/block/"+name, "dm/uuid"), mapPrefix)
	})
	mapper, err := openDeviceMapper()
	if err != nil || mapper == nil {
		return nil, err
	}
	defer mapper.close()
	for _, name := range names {
		m, isThere := readMap(sys, name)
		if !isThere {
			continue
		}
		switch err := mapper.tell(sys, &m); {
		case err == nil:
			all = append(all, m)
		case !errors.Is(err, syscall.ENXIO): // it is gone
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b hal.MultipathMap) int {
		return cmp.Or(cmp.Compare(a.Device.Major, b.Device.Major), cmp.Compare(a.Device.Minor, b.Device.Minor))
	})
	return all, nil
}

// readMap is what sysfs has of a map.
func readMap(sys, name string) (m hal.MultipathMap, isThere bool) {
	dir := sys + "/block/" + name
	m = hal.MultipathMap{UUID: attribute(dir, "dm/uuid"), Name: attribute(dir, "dm/name"), Node: name}
	major, minor, _ := strings.Cut(attribute(dir, "dev"), ":")
	ma, err := strconv.ParseUint(major, 10, 32)
	mi, failed := strconv.ParseUint(minor, 10, 32)
	m.Device = hal.Device{Major: uint32(ma), Minor: uint32(mi)}
	m.Sequence, _ = strconv.ParseUint(attribute(dir, "diskseq"), 10, 64) // not before Linux 5.15
	m.Size = sizeIn(dir)
	m.IsSuspended = attribute(dir, "dm/suspended") == "1"
	return m, errors.Join(err, failed) == nil && m.UUID != "" && m.Name != ""
}

// sizeIn is the size of the block device of a directory of sysfs, in bytes; 0 if it has none.
func sizeIn(dir string) int64 {
	sectors, _ := strconv.ParseInt(attribute(dir, "size"), 10, 64)
	return sectors * 512
}

// tell adds what the device mapper knows of a map.
func (d *deviceMapper) tell(sys string, m *hal.MultipathMap) error {
	h, how, none, err := d.words(m.UUID, "multipath", false)
	if err != nil {
		return err
	}
	m.Opens = int(h.opens)
	_, made, _, err := d.words(m.UUID, "multipath", true)
	if err != nil {
		return err
	}
	if none { // it was made a moment ago
		m.WWID = wwidOfMap(m.UUID, nil)
		return nil
	}
	var says []string
	m.Queues = queuesBy(made)
	m.Paths = pathsBy(how)
	for i, p := range m.Paths {
		at, err := filepath.EvalSymlinks(sys + "/dev/block/" + p.Device.String())
		if err != nil {
			continue
		}
		m.Paths[i].Name = filepath.Base(at)
		says = append(says, strings.TrimRight(attribute(at, "device/wwid"), "\x00 "))
	}
	m.WWID = wwidOfMap(m.UUID, says)
	return nil
}

// wwidOfMap is hal.MultipathMap.WWID, by what the map's paths say. multipathd begins the names of disks with the number
// of their kind.
func wwidOfMap(uuid string, paths []string) string {
	name := strings.TrimPrefix(uuid, mapPrefix)
	if isHexName(name) {
		return map[byte]string{'3': "naa.", '2': "eui."}[name[0]] + name[1:]
	}
	if slices.Sort(paths); len(paths) > 0 && paths[0] == paths[len(paths)-1] {
		return paths[0]
	}
	return ""
}

var hexName = regexp.MustCompile(`^[23]([0-9a-f]{16}|[0-9a-f]{24}|[0-9a-f]{32})$`)

func isHexName(name string) bool { return hexName.MatchString(name) }

// numbersAndWords reads the words of a target one by one (Documentation/admin-guide/device-mapper of Linux).
type numbersAndWords struct{ rest []string }

func (n *numbersAndWords) word() (word string) {
	if len(n.rest) > 0 {
		word, n.rest = n.rest[0], n.rest[1:]
	}
	return word
}

func (n *numbersAndWords) number() int {
	i, err := strconv.Atoi(n.word())
	if err != nil || i < 0 {
		return 0
	}
	return min(i, len(n.rest))
}

// some are as many words as the first one says.
func (n *numbersAndWords) some() (words []string) { return n.take(n.number()) }

func (n *numbersAndWords) take(most int) (words []string) {
	most = min(most, len(n.rest))
	words, n.rest = n.rest[:most], n.rest[most:]
	return words
}

// queuesBy reads how a map was made.
func queuesBy(words string) bool {
	return slices.Contains((&numbersAndWords{strings.Fields(words)}).some(), "queue_if_no_path")
}

// pathsBy reads how a map is: its paths, by their numbers.
func pathsBy(words string) (all []hal.MultipathPath) {
	n := &numbersAndWords{strings.Fields(words)}
	n.some() // features
	n.some() // of the handler
	groups := n.number()
	n.word() // the group in use
	for range groups {
		n.word() // how it is
		n.some() // of what selects a path
		paths, more := n.number(), n.number()
		for range paths {
			at, state := n.word(), n.word()
			n.word() // how often it has failed
			n.take(more)
			var p hal.MultipathPath
			if _, err := fmt.Sscanf(at, "%d:%d", &p.Device.Major, &p.Device.Minor); err == nil {
				p.Active = state == "A"
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b hal.MultipathPath) int {
		return cmp.Or(cmp.Compare(a.Device.Major, b.Device.Major), cmp.Compare(a.Device.Minor, b.Device.Minor))
	})
	return all
}

// mapNow is a map as it is by now; nil if it is gone, and ENODEV if another one has its UUID.
func mapNow(m hal.MultipathMap) (*hal.MultipathMap, error) {
	all, err := mapsIn("/sys")
	i := slices.IndexFunc(all, func(is hal.MultipathMap) bool { return is.UUID == m.UUID })
	switch {
	case err != nil || i < 0:
		return nil, err
	case all[i].Is() != m.Is():
		return nil, because(syscall.ENODEV, fmt.Sprintf("another map has its UUID by now: device %s", all[i].Is()))
	}
	return &all[i], nil
}

// change does to a map what is asked for, in a helper child.
func (r mapRequest) change() (hal.Outcome, error) {
	is, err := mapNow(r.Map)
	switch {
	case err != nil:
		return hal.NotDone, err
	case is == nil && r.Resize:
		return hal.NotDone, because(syscall.ENODEV, "there is no such map")
	case is == nil && r.Remove:
		return forgetDisk(r.Map)
	case is == nil:
		return hal.Done, nil
	case r.Resize:
		return resizeMap(*is)
	}
	mapper, err := openDeviceMapper()
	if err == nil && mapper == nil {
		return hal.Done, nil
	}
	if err != nil {
		return hal.NotDone, err
	}
	defer mapper.close()
	if r.Remove {
		return removeMap(mapper, *is, r.Flush)
	}
	return failQueued(mapper, *is)
}

// removeMap removes a map, and what kpartx(8) has made of it.
func removeMap(mapper *deviceMapper, m hal.MultipathMap, flush bool) (hal.Outcome, error) {
	switch {
	case flush && m.IsSuspended:
		return hal.NotDone, because(syscall.EIO, m.Node+" is suspended, so what was written can't be flushed")
	case flush && !m.IsUp():
		return hal.NotDone, because(syscall.EIO, "no path of "+m.Node+" is active, so what was written can't be flushed")
	}
	if err := removePartitions(mapper, m); err != nil {
		return hal.NotDone, err
	}
	if flush {
		held, err := claim(hal.SCSIDisk{Name: m.Node, Device: m.Device, Sequence: m.Sequence})
		if err != nil {
			return hal.NotDone, err
		}
		if err := errors.Join(flushed(held), held.Close()); err != nil {
			return hal.NotDone, because(syscall.EIO, "what was written can't be flushed: "+err.Error())
		}
	}
	err := mapper.remove(m.UUID)
	switch {
	case errors.Is(err, syscall.EBUSY):
		return hal.NotDone, because(syscall.EBUSY, m.Node+" is in use"+cmp.Or(usersOf(m.Node), ": a process has it open"))
	case err != nil && !errors.Is(err, syscall.ENXIO):
		return hal.NotDone, err
	}
	return forgetDisk(m)
}

// flushed waits until all that was written to a device is on the disk.
func flushed(device *os.File) error { return device.Sync() }

var partition = regexp.MustCompile(`^part[0-9]+-$`)

// removePartitions removes the devices that kpartx(8) has made of the partitions of a map, if nobody uses them.
func removePartitions(mapper *deviceMapper, m hal.MultipathMap) error {
	holders, err := namesIn("/sys/block/" + m.Node + "/holders")
	if err != nil {
		return err
	}
	for _, h := range holders {
		uuid := attribute("/sys/block/"+h, "dm/uuid")
		part, is := strings.CutSuffix(uuid, m.UUID)
		if !is || !partition.MatchString(part) {
			continue
		}
		err := mapper.remove(uuid)
		switch {
		case errors.Is(err, syscall.EBUSY):
			return because(syscall.EBUSY, h+", a partition of "+m.Node+", is in use"+usersOf(h))
		case err != nil && !errors.Is(err, syscall.ENXIO):
			return err
		}
	}
	return nil
}
