package sim

import "sync"

var workers int

func start() {
	var g sync.WaitGroup
	workers++
	go g.Done()
}
