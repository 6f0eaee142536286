package wrap

import (
	"github.com/volnode/volnode/hal"
)

type cluster struct {
	inner  hal.Cluster
	around Around
}

func (w cluster) Watch(f func(hal.ClusterEvent)) { w.inner.Watch(f) }

func (w cluster) Secret(c hal.Call, namespace, name string) (hal.Secret, error) {
	return get(w.around, asks("secret", namespace+"/"+name), c,
		func() (hal.Secret, error) { return w.inner.Secret(c, namespace, name) })
}
