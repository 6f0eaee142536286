package scenarios

import "github.com/volnode/volnode/hal"

// hearsOfClaim tells the agent of a claim that people have.
func (r *run) hearsOfClaim() any {
	r.files, r.news = true, map[string][]news{}
	is := claimOf(1, 0)
	r.now.put(is)
	r.hears(hal.Changed{Applied: []any{is}})
	return is
}
