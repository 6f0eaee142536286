package kinds

import (
	"syscall"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
)

// Listing is what a start finds in the layout below the root directory: which names are there, and what their data files hold.
type Listing struct {
	Pods   []PodEntry
	Staged []StagedEntry
	Blocks []BlockEntry
	// Empty is the names below the directories of pods in which there is no volume, each as deep as it goes: what a climb, or a descent, that
	// was cut short has left. They may go, with the directories above them that are empty then.
	Empty []string
}

// PodEntry is pods/<Pod>/volumes/<Plugin>/<Name>.
type PodEntry struct {
	Pod, Plugin, Name string
	Data              File // of vol_data.json, for kubernetes.io~csi
}

// StagedEntry is plugins/kubernetes.io/csi/<Driver>/<Name>.
type StagedEntry struct {
	Driver, Name string
	Data         File
}

// BlockEntry is plugins/kubernetes.io/csi/volumeDevices/<Spec>, with what is published of it.
type BlockEntry struct {
	Spec   string
	Data   File
	Staged bool     // staging/<Spec> is there
	Pods   []string // publish/<Spec>/<pod uid>
}

// File is the content of a file. Problem, when not "", says why there is none.
type File struct {
	Data    []byte
	Problem string
}

// Scan lists the layout. From a task. An error means that something could not be listed: then nothing may be concluded from what is missing. Data
// files that can't be read are part of the listing.
func Scan(h *hal.Host, c hal.Call, root string) (Listing, error) {
	s := scanner{h, c}
	var l Listing
	pods, err := s.list(plugin.PodsDir(root))
	if err != nil {
		return Listing{}, err
	}
	for _, pod := range pods {
		if err := s.pod(&l, root, pod.Name); err != nil {
			return Listing{}, err
		}
	}
	drivers, err := s.list(plugin.CSIDir(root))
	if err != nil {
		return Listing{}, err
	}
	for _, driver := range drivers {
		if driver.Name == "volumeDevices" {
			err = s.blocks(&l, plugin.CSIDir(root)+"/"+driver.Name)
		} else {
			err = s.staged(&l, root, driver.Name)
		}
		if err != nil {
			return Listing{}, err
		}
	}
	return l, nil
}

type scanner struct {
	h *hal.Host
	c hal.Call
}

// list is the entries of a directory; none if it is missing, or if the name is not a directory's.
func (s scanner) list(dir string) ([]hal.Entry, error) {
	entries, err := s.h.Tree.List(s.c, dir)
	if hal.Is(err, syscall.ENOENT) || hal.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return entries, err
}

func (s scanner) data(file string) File {
	data, err := s.h.Files.Read(s.c, file, csi.MaxVolData)
	if err != nil {
		return File{Problem: err.Error()}
	}
	return File{Data: data}
}

func (s scanner) pod(l *Listing, root, pod string) error {
	volumes := plugin.PodDir(root, pod) + "/volumes"
	plugins, err := s.list(volumes)
	if err != nil {
		return err
	}
	if len(plugins) == 0 {
		s.empty(l, volumes)
	}
	for _, p := range plugins {
		of := volumes + "/" + p.Name
		names, err := s.list(of)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			s.empty(l, of)
		}
		for _, name := range names {
			e := PodEntry{Pod: pod, Plugin: p.Name, Name: name.Name}
			if p.Name == "kubernetes.io~csi" {
				dir := of + "/" + name.Name
				husk, err := s.husk(dir)
				if err != nil {
					return err
				}
				if len(husk) > 0 {
					l.Empty = append(l.Empty, husk...)
					continue
				}
				e.Data = s.data(dir + "/vol_data.json")
			}
			l.Pods = append(l.Pods, e)
		}
	}
	return nil
}

// husk returns the names to remove of a published volume's directory that tells of no volume: it holds nothing but an unfinished data file and
// a target path on which nothing stands and in which nothing is. It is what a climb that was cut short before its call, or a descent, has left.
func (s scanner) husk(dir string) ([]string, error) {
	entries, err := s.list(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		l := &Listing{}
		s.empty(l, dir)
		return l.Empty, nil
	}
	var names []string
	for _, e := range entries {
		name := dir + "/" + e.Name
		switch e.Name {
		case ".vol_data.json.new":
			names = append(names, name)
		case "mount":
			l := &Listing{}
			inside, err := s.list(name)
			if err == nil && len(inside) == 0 {
				s.empty(l, name)
			}
			if len(l.Empty) == 0 {
				return nil, nil // a mount stands there, or it is in trouble: no husk
			}
			names = append(names, name)
		default:
			return nil, nil
		}
	}
	return names, nil
}

// empty notes a directory without entries. What is no directory is somebody's file.
func (s scanner) empty(l *Listing, dir string) {
	info, err := s.h.Tree.Stat(s.c, dir)
	if hal.Is(err, syscall.ENOENT) || err == nil && info.Type == hal.TypeDirectory && !info.MountPoint {
		l.Empty = append(l.Empty, dir)
	}
}

func (s scanner) staged(l *Listing, root, driver string) error {
	dir := plugin.CSIDir(root) + "/" + driver
	names, err := s.list(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		l.Staged = append(l.Staged, StagedEntry{driver, name.Name, s.data(dir + "/" + name.Name + "/vol_data.json")})
	}
	return nil
}

func (s scanner) blocks(l *Listing, dir string) error {
	specs, err := s.list(dir)
	if err != nil {
		return err
	}
	staged, err := s.list(dir + "/staging")
	if err != nil {
		return err
	}
	for _, spec := range specs {
		if spec.Name == "staging" || spec.Name == "publish" {
			continue
		}
		b := BlockEntry{Spec: spec.Name, Data: s.data(dir + "/" + spec.Name + "/data/vol_data.json")}
		for _, e := range staged {
			b.Staged = b.Staged || e.Name == spec.Name
		}
		pods, err := s.list(dir + "/publish/" + spec.Name)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			b.Pods = append(b.Pods, pod.Name)
		}
		l.Blocks = append(l.Blocks, b)
	}
	return nil
}
