// Package nfs is the volume source nfs: an export of a server, mounted for each pod that has it (K:G98).
//
// Its effects can all be listed by a start, so its one rung needs no intent. A mount waits for its server as long as
// mount.nfs does, and an unmount as long as the kernel does: a rung that waits keeps nobody else from anything.
package nfs

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Kind is the kind of the rungs of this package.
const Kind core.Kind = "nfs"

const (
	pluginName = "kubernetes.io/nfs"

	paramOptions = "options" // of nfs(5), with commas between them
	paramSource  = "source"  // server:path; none in the rung of what a start has found

	factSource = "source" // see work.spelled

	maxPath = 1024 // bytes, of NFS version 3 (RFC 1813, MNTPATHLEN)
)

// directory is where such volumes are below a pod.
var directory = plugin.DirectoryOf(pluginName)

// Key is the key of a pod's volume. spec is the name of the PersistentVolume, or the pod's volume if inline.
func Key(uid, spec string) hal.Key { return hal.Key(string(Kind) + "/" + uid + "/" + spec) }

// Source is nfs: PersistentVolumes with spec.nfs, and volumes of pods.
func Source() plugin.Source {
	return plugin.Source{
		Name: "nfs", Plugin: pluginName,
		InPod:    func(spec *corev1.Volume) bool { return spec.NFS != nil },
		InVolume: func(pv *corev1.PersistentVolume) bool { return pv.Spec.NFS != nil },
		Ladder:   Ladder,
		Kinds: []plugin.Kind{{
			Name: Kind, Verbs: plugin.Verbs{SetUp: setUp, TearDown: tearDown, Inspect: inspect},
			Measure: plugin.MeasurePath,
		}},
		Scan: func() plugin.Scan { return &plugin.Directories{Found: rung, Bad: plugin.BadObjectName} },
	}
}

// Ladder makes the one rung of an NFS volume, or says why it can't be served. The group of a pod changes nothing of it:
// who owns the files is the server's business.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	src, spec := v.Spec.NFS, v.Spec.Name
	field := func(name string) string { return v.Field(".nfs." + name) }
	if v.PV != nil {
		src, spec, field = v.PV.Spec.NFS, v.PV.Name, func(name string) string { return v.PVField("spec.nfs." + name) }
		if bad := plugin.BadObjectName(spec); bad != "" {
			return nil, plugin.Problemf(v.PVField("metadata.name"), "%s", plugin.Says(spec, bad))
		}
	}
	if src == nil {
		return nil, plugin.Problemf(v.Field(""), "is not an NFS volume")
	}
	if v.Block {
		return nil, plugin.Problemf(field("path"), "an NFS volume can't be a raw block device; use it in volumeMounts")
	}
	if p := badExport(field, src); p != nil {
		return nil, p
	}
	if p := v.WantsContext(); p != nil {
		return nil, p
	}
	isReadOnly := v.ReadOnly || src.ReadOnly
	options, p := optionsOf(v, &isReadOnly)
	if p != nil {
		return nil, p
	}
	readOnly := ""
	if isReadOnly {
		readOnly = plugin.Yes
	}
	r := rung(v.Root, string(v.Pod.UID), spec)
	const change = core.OnChangeRebuild
	r.Want = append(r.Want, core.Param{Name: paramOptions, Value: strings.Join(options, ","), OnChange: change},
		core.Param{Name: plugin.ParamReadOnly, Value: readOnly, OnChange: change},
		core.Param{Name: paramSource, Value: export(src), OnChange: change})
	if v.PV != nil {
		r.Volume = string(Kind) + "^" + spec
		r.Want = append(r.Want, core.Param{Name: plugin.ParamPV, Value: spec})
		r.Exclusive = v.Exclusive(r.Volume)
	}
	plugin.Sorted(r.Want)
	return append(to, r), nil
}

// badExport says what is wrong with the server or the path, nil if nothing: they go to mount.nfs as one argument.
func badExport(field func(string) string, src *corev1.NFSVolumeSource) *plugin.Problem {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_:%", r)
	}
	switch server := src.Server; {
	case server == "":
		return plugin.Problemf(field("server"), "is empty; name the server by its host name or address")
	case strings.HasPrefix(server, "-") || strings.ContainsFunc(server, odd):
		return plugin.Problemf(field("server"), "%q is no host name or address", server)
	case len(server) > plugin.MaxName:
		return plugin.Problemf(field("server"), "is longer than %d characters", plugin.MaxName)
	}
	switch at := src.Path; {
	case !strings.HasPrefix(at, "/"):
		return plugin.Problemf(field("path"), "%q is not an absolute path", at)
	case slices.Contains(strings.Split(at, "/"), ".."):
		return plugin.Problemf(field("path"), `%q contains ".."; write the path without it`, at)
	case len(at) > maxPath:
		return plugin.Problemf(field("path"), "has %d bytes; a path of an export has at most %d", len(at), maxPath)
	case strings.ContainsFunc(at, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return plugin.Problemf(field("path"), "%q has control characters", at)
	}
	return nil
}

// export spells an export as mount.nfs takes it: SERVER:PATH, an IPv6 address in brackets.
func export(src *corev1.NFSVolumeSource) string {
	server := src.Server
	if strings.Contains(server, ":") {
		server = "[" + server + "]"
	}
	return server + ":" + path.Clean(src.Path)
}

// Options of nfs(5) that a volume may have. What they are set to is a word or a number. Those that would run a program,
// name a file of the node, or keep mount.nfs in the background are not among them.
var (
	plain = []string{
		"ac", "acl", "cto", "hard", "intr", "lock", "noac", "noacl", "noatime", "nocto", "nodiratime", "nointr",
		"nolock", "nordirplus", "noresvport", "nosharecache", "nosoftreval", "rdirplus", "relatime", "resvport",
		"sharecache", "soft", "softerr", "softreval", "tcp", "udp",
	}
	valued = []string{
		"acdirmax", "acdirmin", "acregmax", "acregmin", "actimeo", "local_lock", "lookupcache", "max_connect",
		"minorversion", "mountport", "mountproto", "mountvers", "namlen", "nconnect", "nfsvers", "port", "proto", "rdma",
		"retrans", "rsize", "sec", "timeo", "vers", "wsize",
	}
	mountFlags = []string{"nodev", "noexec", "nosuid"}
)

// optionsOf are the options of the PersistentVolume, sorted, but for ro, which isReadOnly says.
func optionsOf(v plugin.Volume, isReadOnly *bool) (options []string, p *plugin.Problem) {
	if v.PV == nil {
		return nil, nil
	}
	for _, option := range v.PV.Spec.MountOptions {
		name, value, hasValue := strings.Cut(option, "=")
		odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != ':' }
		isGood := !hasValue && (slices.Contains(plain, name) || slices.Contains(mountFlags, name)) ||
			slices.Contains(valued, name) && value != "" && !strings.ContainsFunc(value, odd)
		switch {
		case option == "ro":
			*isReadOnly = true
		case option == "rw" && !*isReadOnly:
		case !isGood:
			return nil, plugin.Problemf(v.PVField("spec.mountOptions"),
				"%q is not an option of NFS that volnode serves; write one option of nfs(5) in each entry", option)
		default:
			options = append(options, option)
		}
	}
	slices.Sort(options)
	return slices.Compact(options), nil
}

// rung is all that a volume's place says of its rung: a start that has no record of it makes it of that alone, and
// tears it down.
func rung(root, uid, spec string) core.Rung {
	place := plugin.PodPlace(root, uid, directory, spec)
	return core.Rung{
		Key: Key(uid, spec), Kind: Kind, Pod: core.PodUID(uid),
		Want: append(make([]core.Param, 0, 8), // one is who the pod is
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamSpec, Value: spec},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}

// work is one operation.
type work struct {
	h            *hal.Host
	o            core.Op
	c            hal.Call
	path, source string
}

func begin(h *hal.Host, o core.Op) work {
	return work{h, o, op.Call(o), core.Value(o.Params, plugin.ParamPath), core.Value(o.Params, paramSource)}
}

func inspect(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	return op.InspectResult(op.Inspect(h, w.c, w.path))
}

func setUp(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" || w.source == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path or no source")
	}
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	top, mounted := seen.Top()
	switch {
	case mounted && (top.Was(o.Fingerprint) || w.isAsked(top)):
		return w.up(top)
	case mounted:
		return w.mounted().Foreign(o, seen.Stack)
	}
	if err := op.Mkdirs(h, w.c, w.path, op.ParentMode); err != nil {
		return op.Unknown(err.Error()) // it may have made directories
	}
	if err := h.Mounts.Mount(w.c, w.mount()); err != nil {
		return op.Unknown(err.Error())
	}
	if seen, err = op.Inspect(h, w.c, w.path); err != nil {
		return op.Unknown("set up, but volnode cannot inspect it: " + err.Error())
	}
	if top, mounted = seen.Top(); !mounted || !isNFS(top) {
		return w.mounted().Foreign(o, seen.Stack)
	}
	return w.up(top)
}

// mount is what the pod asks for. No program of a server gets the rights of another user by its mode, and no file of it
// is a device of the node. mount.nfs tries once: volnode tries again.
func (w work) mount() hal.NewMount {
	m := hal.NewMount{
		FSType: "nfs", Source: w.source, Target: w.path, Flags: []string{"nodev", "nosuid"},
		Options: []hal.Option{{Key: "retry", Value: "0"}},
	}
	if plugin.IsReadOnly(w.o.Params) {
		m.Flags = append(m.Flags, "ro")
	}
	for _, option := range strings.Split(core.Value(w.o.Params, paramOptions), ",") {
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name == "" || slices.Contains(m.Flags, name):
		case slices.Contains(mountFlags, name):
			m.Flags = append(m.Flags, name)
		default:
			m.Options = append(m.Options, hal.Option{Key: name, Value: value})
		}
	}
	return m
}

// isAsked: m is what the pod asks for, be it that an attempt has mounted it that died.
func (w work) isAsked(m hal.Mount) bool {
	return w.isExport(m) && m.ReadOnly == plugin.IsReadOnly(w.o.Params)
}

// isExport: m is of the volume's export. A server may have had the kernel spell it in another way.
func (w work) isExport(m hal.Mount) bool {
	return isNFS(m) && (m.Source == w.source || w.spelled(m) == core.FactOf(w.o.Facts, factSource))
}

func isNFS(m hal.Mount) bool { return m.FSType == "nfs" || m.FSType == "nfs4" }

// spelled is an export as it was asked for, and as the mount table has it.
func (w work) spelled(m hal.Mount) string { return w.source + " " + m.Source }

func (w work) up(m hal.Mount) core.Result {
	return core.Result{
		Outcome: hal.Done, Fingerprint: m.Fingerprint(),
		Facts: []core.Fact{{Name: plugin.FactPath, Value: w.path}, {Name: factSource, Value: w.spelled(m)}},
	}
}

// mounted is the mount.
func (w work) mounted() op.Mounted {
	return op.Mounted{Path: w.path, Stop: core.Value(w.o.Params, plugin.ParamStop), Owns: w.owns}
}

// owns: m, one of so many mounts at the path, is the volume's: it is of its export. Where no mount was confirmed, the
// volume may be of another export since, or no record tells of it: the only mount is the volume's if it is one of NFS.
func (w work) owns(m hal.Mount, mounts int) (bool, error) {
	if w.o.Fingerprint == "" && !w.o.First && mounts == 1 {
		return isNFS(m), nil
	}
	return w.isExport(m), nil
}

func tearDown(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path")
	}
	return w.mounted().Remove(h, o)
}
