package haltest

import (
	"fmt"

	"github.com/volnode/volnode/hal"
)

// project is word i, which counts from the first project of agents; 0 if there is none.
func (a args) project(i int) uint32 {
	if a.at(i) == "" {
		return 0
	}
	return uint32(int64(hal.FirstProject) + a.number(i, 0))
}

var quotaVerbs = map[string]verb{
	"limit": func(r *run, a args) ([]string, error) { // projects are numbered from the first of agents
		project, err := r.host.Quotas.Limit(r.call(), r.path(a[0]), a.number(1, 0), a.project(2))
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("project %d", project-hal.FirstProject)}, nil
	},
	"lift": func(r *run, a args) ([]string, error) {
		return nil, r.host.Quotas.Lift(r.call(), r.path(a[0]), a.project(1))
	},
	"quota": func(r *run, a args) ([]string, error) { // a filesystem may count a directory, and rounds a limit up
		is, err := r.host.Quotas.Usage(r.call(), r.path(a[0]))
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("%d KiB, %d names", is.Bytes.Total>>10, is.Inodes.Used)}, nil
	},
	"uses": func(r *run, a args) ([]string, error) {
		r.world.UseProject(a.project(0), a[1], r.path(a[2]))
		return nil, nil
	},
}
