//go:build faulty

package core

import _ "os" // want `arrows: engine/core must not import os: .*` `purity: engine/core must not import os`

func faulty() {
	go faulty() // want `purity: no go statement: a task is started by Runtime.Go`
	recover()   // want `purity: no recover: .*`
}
