package hal

// SocketEvent says that a plugin's registration socket is at Path, or is gone.
type SocketEvent struct {
	Path    string
	Present bool
	// Made orders sockets by when they were made, also over a restart of the agent. 0 of what is not Present.
	Made int64
	// Problem, when not "", says why what is at Path is not taken for a registration socket. Present is then false.
	Problem string
}

// Watches reports changes that the agent did not make. Each f runs on the owner; each watch lasts until the agent
// ends. Notices may be late, doubled or merged, never lost for good.
type Watches interface {
	// MountTable calls f after the mount table has changed, own changes included, with each path at which a mount has
	// come or gone, sorted. If a mount was moved with others below it, that is the old and the new path of each. It
	// need not report a mount that came and went before anybody saw it (see Mounts). nil says that anything may have
	// changed. A change at a mount that is not in the table (a remount, its propagation, a filesystem that fails) may
	// come as nil, or not at all.
	MountTable(f func(at []string))
	// PluginSockets calls f for each socket below dir that is there, appears, is replaced or vanishes. Those that are
	// there at the start come first, in one go, oldest first. dir is made if missing.
	PluginSockets(dir string, f func(SocketEvent))
	// Path calls f after path, or a directory that leads to it from the agent's root directory, was removed, moved or
	// replaced, or while it can't see that. It leaves mounts to MountTable. It ends with the call of the function
	// returned. A task.
	Path(path string, f func()) (end func())
	// Directory calls f after names in dir, or files named in it, have changed, and once at the start. Whoever is
	// called, or looks for another reason, may ask which names have changed since the last question. Each change that
	// was made before the question is among them, and more may be, or isAny says that anything may have changed: at the
	// first question, after notices were lost, in another directory, where no notice comes for some changes. A task.
	Directory(dir string, f func()) (changed func() (names []string, isAny bool))
}
