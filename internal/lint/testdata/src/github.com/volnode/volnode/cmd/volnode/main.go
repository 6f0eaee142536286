package main

import (
	_ "github.com/volnode/volnode/cmd/volnode/config"
	_ "github.com/volnode/volnode/e2e/csidriver" // want `arrows: cmd/volnode must not import github.com/volnode/volnode/e2e/csidriver: nothing outside e2e imports it`
	_ "github.com/volnode/volnode/engine"
	_ "github.com/volnode/volnode/hal/linux"
)

func main() {}
