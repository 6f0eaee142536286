package scenarios
import ("testing";"fmt";"maps";"slices")
func TestZZ(t *testing.T) {
	debugCosts = func(few, many map[string]aCost) {
		for _, c := range slices.Sorted(maps.Keys(few)) { for _, is := range slices.Sorted(maps.Keys(many[c])) { if many[c][is]>0 {fmt.Println(c,"|", is, few[c][is], many[c][is]) }}}
	}
	h := NewHunter()
	s := Large(1); s.Pods, s.Volumes = 2, 4
	res := h.Run(Schedule{Seed: 1, Setup: &s, Chooser: crowded{pods: 300, mounts: 300}})
	fmt.Println(res.Violation)
}
