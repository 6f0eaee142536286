package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/volnode/volnode/hal/haltest"
)

// Patience bounds every wait. It is never waited out where nothing is wrong.
const Patience = 60 * time.Second

// programs are built once for all tests of a package.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

// Main runs the tests of a package in a mount namespace of their own, which goes with the last process in it. It is the
// whole of TestMain.
func Main(m *testing.M) {
	guardMain()
	status := haltest.InPrivateMounts(func() int {
		defer func() { _ = os.RemoveAll(programs.dir) }()
		return m.Run()
	})
	os.Exit(status)
}

// build makes volnode, with the faults of hal/fault in it, and the CSI driver.
func build() (string, error) {
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "volnode-e2e-"); programs.err != nil {
			return
		}
		const module = "github.com/volnode/volnode/"
		cmd := exec.Command("go", "build", "-tags", "volnode_faults", "-o", programs.dir+"/", module+"cmd/volnode",
			module+"e2e/cmd/csidriver",
			module+"e2e/cmd/registrar")
		if out, err := cmd.CombinedOutput(); err != nil {
			programs.err = fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
	})
	return programs.dir, programs.err
}

func program(name string) string { return filepath.Join(programs.dir, name) }
