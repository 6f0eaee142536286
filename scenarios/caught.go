package scenarios

import "strings"

// caughtBy begins the line of a scenario's head that names what catches its bug.
const caughtBy = "caught by: "

// CaughtBy returns what catches the bug that the scenario tells of: the name of a mutant that fails it, or the code of
// a property; "" if its head does not say.
func (s *Scenario) CaughtBy() string {
	for _, line := range s.Head {
		if what, ok := strings.CutPrefix(line, caughtBy); ok {
			return what
		}
	}
	return ""
}
