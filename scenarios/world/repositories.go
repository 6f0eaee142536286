package world

import (
	"fmt"
	"maps"
	"strings"

	"github.com/volnode/volnode/hal"
)

// RepositoryVersion is what a repository held for a while.
type RepositoryVersion struct {
	Revision string // that names it for good, "" for none
	Files    map[string]string
	From     hal.Instant
	Until    hal.Instant // 0 for still: it is the newest
}

// PutsRepository has somebody put the next revision of a repository on its server; revision names it for good, unless
// that is "".
func (r *Run) PutsRepository(url, revision string) {
	r.endsRepository(url)
	n := len(r.Repositories[url])
	_, name, _ := strings.Cut(url, "://")
	v := RepositoryVersion{Revision: revision, From: r.W.Now(), Files: map[string]string{
		"version": fmt.Sprintf("%s %d", name, n), "etc/app/config": "port = 80\n", fmt.Sprintf("lib/of-%d/name", n%3): name,
	}}
	r.Repositories[url] = append(r.Repositories[url], v)
	r.W.PutRepository(url, revision, v.Files)
}

// RemovesRepository has somebody remove a repository from its server.
func (r *Run) RemovesRepository(url string) {
	r.endsRepository(url)
	r.W.RemoveRepository(url)
}

func (r *Run) endsRepository(url string) {
	if all := r.Repositories[url]; len(all) > 0 && all[len(all)-1].Until == 0 {
		all[len(all)-1].Until = r.W.Now()
	}
}

// HasRepository reports whether a server has a repository now.
func (r *Run) HasRepository(url string) bool {
	all := r.Repositories[url]
	return len(all) > 0 && all[len(all)-1].Until == 0
}

// IsOfRepository reports whether files are those of a revision of a repository, or of the newest one at some time since
// an instant.
func (r *Run) IsOfRepository(url, revision string, files map[string]string, since hal.Instant) bool {
	for _, v := range r.Repositories[url] {
		isIt := revision != "" && v.Revision == revision || revision == "" && (v.Until == 0 || v.Until >= since)
		if isIt && maps.Equal(v.Files, files) {
			return true
		}
	}
	return false
}
