package hal

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Repositories is the git repositories that servers have. Of class helper.
type Repositories interface {
	// Clone makes the directory r.Dir, with a copy of a repository in it. Nothing that a repository holds runs, and no
	// name of it leads out of r.Dir. Root owns the files; none has the set-user-ID bit. r.Dir is there only once all is,
	// durably; until then it is made at [Cloning], and what an earlier call has left there goes first. The parent of
	// r.Dir exists. A server has [CloneMost] to send all. ENOENT: the server has no such repository, or that has no such
	// revision; EEXIST: r.Dir is there; EINVAL: [Repository.Bad] says why; EACCES: the server asks who asks; EBADMSG: the
	// repository is damaged, or holds what a volume can't; ETIMEDOUT: the server was too slow; ENOSPC: the disk of r.Dir
	// is nearly full.
	Clone(c Call, r Repository) error
}

// Repository is what [Repositories.Clone] makes of a repository.
type Repository struct {
	URL      string
	Revision string // a branch, a tag or a commit; "" for what the server has checked out
	Dir      string // below the agent's root directory; any user may make names in it
	Below    string // where in Dir the files are: a relative path; "." is Dir itself
	// IsGroups: the files are of the group Group, which may write them, and so is what is made beside them later.
	IsGroups bool
	Group    uint32
}

// CloneMost is how long a clone may take.
const CloneMost = 10 * time.Minute

// Bounds of what names a repository, a revision or a directory in a volume, in bytes.
const (
	mostURL  = 2048
	mostPath = 1024
	mostName = 255
)

// RepositorySchemes are the schemes that a URL of a repository may have. A path of the node is none: whoever may name
// one reads what is not his (CVE-2025-1767).
func RepositorySchemes() []string { return []string{"https", "http"} }

// SchemeOf is what a URL begins with, "" if that is no scheme of a repository.
func SchemeOf(url string) string {
	for _, scheme := range RepositorySchemes() {
		if strings.HasPrefix(url, scheme+"://") {
			return scheme
		}
	}
	return ""
}

// BadRepositoryURL says what is wrong with the URL of a repository, "" if nothing is. It quotes nothing of it: there
// may be a password in it.
func BadRepositoryURL(url string) string {
	scheme := SchemeOf(url)
	authority, path, _ := strings.Cut(strings.TrimPrefix(url, scheme+"://"), "/")
	switch {
	case url == "":
		return "is empty; write it like https://git.example/team/app.git"
	case len(url) > mostURL:
		return fmt.Sprintf("is longer than the %d bytes that a URL of a repository may have", mostURL)
	case strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return "has a character that a URL can't have; write it like https://git.example/team/app.git"
	case scheme == "":
		return "begins with neither https:// nor http://; volnode clones from a server only, neither by ssh nor from a " +
			"path of the node (CVE-2025-1767)"
	case strings.Contains(authority, "@"):
		return "has a user or a password; every user of the node could read it in the arguments of git: remove it"
	case strings.ContainsAny(url, "?#"):
		return "has a ? or a #, which no URL of a repository needs; remove it"
	case authority == "" || strings.HasPrefix(authority, "-") || strings.HasPrefix(authority, ":"):
		return "names no server; write it like https://git.example/team/app.git"
	case strings.Trim(path, "/") == "":
		return "names no repository of its server; write it like https://git.example/team/app.git"
	}
	return ""
}

// BadRevision says what is wrong with a revision, "" if nothing is.
func BadRevision(revision string) string {
	switch {
	case len(revision) > mostPath:
		return fmt.Sprintf("is longer than %d bytes", mostPath)
	case strings.HasPrefix(revision, "-"):
		return "begins with a -; name a branch, a tag or a commit"
	case hasOdd(revision):
		return "has a space or a character that can't be printed; name a branch, a tag or a commit"
	}
	return ""
}

// BadBelow says what is wrong with a place in a volume, "" if nothing is.
func BadBelow(below string) string {
	switch {
	case below == ".":
		return ""
	case below == "":
		return "is empty"
	case len(below) > mostPath:
		return fmt.Sprintf("is longer than %d bytes", mostPath)
	case strings.HasPrefix(below, "/"):
		return "is an absolute path; write one below the volume, or . for the volume itself"
	case strings.HasPrefix(below, "-"):
		return "begins with a -; write a path below the volume, or . for the volume itself"
	case strings.ContainsFunc(below, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(below):
		return "has a character that can't be printed; write a path below the volume"
	}
	for name := range strings.SplitSeq(below, "/") {
		switch {
		case name == "" || name == "." || name == "..":
			return "is not in its shortest form, without .. and double slashes; write a path below the volume"
		case strings.EqualFold(name, ".git"):
			return "leads into a directory .git, which is a repository's own (CVE-2024-10220); take another name"
		case len(name) > mostName:
			return fmt.Sprintf("has a name that is longer than %d bytes", mostName)
		}
	}
	return ""
}

// hasOdd: s has a space or what can't be printed.
func hasOdd(s string) bool {
	return !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// Bad says what is wrong with r, "" if nothing is.
func (r Repository) Bad() string {
	for _, part := range [...]struct{ name, bad string }{
		{"the URL", BadRepositoryURL(r.URL)}, {"the revision", BadRevision(r.Revision)}, {"the directory", BadBelow(r.Below)},
	} {
		if part.bad != "" {
			return part.name + " " + part.bad
		}
	}
	return ""
}

// RepositoryName is the directory that git names after a repository, "" if its URL has no name for one.
func RepositoryName(url string) string {
	_, path, _ := strings.Cut(strings.TrimPrefix(url, SchemeOf(url)+"://"), "/")
	path = strings.TrimRight(path, "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/.git"), ".git")
	name := path[strings.LastIndexByte(path, '/')+1:]
	if BadBelow(name) != "" || name == "." {
		return ""
	}
	return name
}

const cloningSuffix = ".cloning"

// Cloning is where a repository is cloned that comes to dir: beside it.
func Cloning(dir string) string {
	at := strings.LastIndexByte(dir, '/') + 1
	return dir[:at] + "." + dir[at:] + cloningSuffix
}

// Cloned is the name that a directory gets, or has, that Clone makes.
func Cloned(name string) string {
	if inner, ok := strings.CutPrefix(name, "."); ok {
		if name, ok := strings.CutSuffix(inner, cloningSuffix); ok {
			return name
		}
	}
	return name
}
