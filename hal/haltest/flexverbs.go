package haltest

import (
	"fmt"
	"strings"

	"github.com/volnode/volnode/hal"
)

// flexVerbs are those of FlexVolume drivers.
var flexVerbs = map[string]verb{
	"driver": func(r *run, a args) ([]string, error) {
		r.world.InstallFlex(a[0], a[1])
		return nil, nil
	},
	"undriver": func(r *run, a args) ([]string, error) {
		return []string{fmt.Sprint(r.world.RemoveFlexDriver(a[0]))}, nil
	},
	"flexinit": func(r *run, a args) ([]string, error) {
		is, err := r.host.Flex.Init(r.call(), a[0])
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("%+v", is)}, nil
	},
	"flexmount": func(r *run, a args) ([]string, error) {
		var options []hal.Option
		for _, word := range a[2:] {
			key, value, _ := strings.Cut(word, "=")
			options = append(options, hal.Option{Key: key, Value: value})
		}
		return nil, r.host.Flex.Mount(r.call(), a[0], r.path(a[1]), options)
	},
	"flexunmount": func(r *run, a args) ([]string, error) {
		return nil, r.host.Flex.Unmount(r.call(), a[0], r.path(a[1]))
	},
}
