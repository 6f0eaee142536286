package hal

// Quotas are the project quotas of the filesystem that the agent's root directory lies on (quotactl(2), PRJQUOTA).
// Class file. No method follows a symbolic link, nor goes into a mount: see [Tree].
//
// A project is a number. A directory may be of one, and all that is made in it is of the same; the filesystem counts
// what is of a project, and may have a limit for it. The numbers from [FirstProject] to [LastProject] are for agents.
// What is on the disk says which of them are in use: nobody keeps a list. The limits of agents carry [ProjectMark].
type Quotas interface {
	// Limit has the directory path, and all that is made in it from then on, take at most so many bytes, rounded up to
	// blocks of the filesystem, and returns its project. The first call gives it one that nothing is of, for which nobody
	// has set a limit, and which neither /etc/projects nor /etc/projid names; that is durable before there is a limit.
	// Later calls change the limit; project is then what the first one returned, or 0 if that is not known.
	//
	// ENOTEMPTY: the directory is of no project, and files are in it, which would not count. EEXIST: it is of a project
	// that is none of agents, or another one than project. EOPNOTSUPP: the filesystem has no project quotas, or keeps
	// nobody to them. ENOSPC: no number is left, or the disk is full.
	Limit(c Call, path string, bytes int64, project uint32) (uint32, error)
	// Usage tells how much of its limit the directory path takes, and how many names are below it. ENODATA: it has none.
	Usage(c Call, path string) (Usage, error)
	// Lift takes away the limit of the directory path, which keeps its project: that must be project, or any of agents if
	// project is 0; EEXIST if it is another one of agents, whose limit stays. It takes away also the limits of agents for
	// which nothing is of their project any more. path may be missing. It succeeds on a filesystem without project
	// quotas, which has no limits.
	Lift(c Call, path string, project uint32) error
}

// The projects that agents give to directories. The kubelet's begin at 1048577; those of container runtimes and of
// people are smaller.
const (
	FirstProject uint32 = 0x766f0000
	LastProject  uint32 = 0x766fffff
)

// IsProject reports whether a project is one of agents.
func IsProject(project uint32) bool { return project >= FirstProject && project <= LastProject }

// ProjectMark is the most files that a project with a limit of an agent may have, in letters "volnode": no filesystem
// has as many, and nobody else sets such a limit.
const ProjectMark = 0x766f6c6e6f6465
