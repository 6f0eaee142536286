package scenarios

import "strconv"

// Plant gives the agent of a scenario a defect: after so many deaths in the story it leaves a file behind among those
// of the pods. How often it has died it keeps on the disk, as an agent would have to.
func (s *Scenario) Plant(deaths int) {
	s.meddle = func(r *run) {
		name := "life-" + strconv.FormatUint(uint64(r.w.Life()), 10)
		if _, isKnown := r.w.Exists("/srv/" + name); r.stop || r.w.Life() == 1 || isKnown {
			return
		}
		r.w.MakeDir("/srv/" + name)
		if len(r.w.Entries("/srv")) == deaths {
			r.w.WriteFile(rootDir+"/pods/left/file", nil)
		}
	}
}
