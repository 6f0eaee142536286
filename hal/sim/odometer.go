package sim

import "strings"

// Odometer makes every combination of the choices at the sites that it counts, one combination in each run: the first
// makes the benign choice everywhere, and [Odometer.Next] turns it on to the next one, the last choice of the run
// before turning fastest. All other choices are those of Inner. Which choices a run comes to may depend on what was
// chosen before in it.
type Odometer struct {
	Inner  Chooser
	Counts func(site string) bool
	digits []digit
	at     int // of the present run
}

// digit is one choice: which of how many values.
type digit struct{ value, values int64 }

// AtPowerCut reports whether a choice is what a power cut leaves of what was not synced.
func AtPowerCut(site string) bool { return strings.HasPrefix(site, "powercut.") }

// Next turns to the next combination. It reports whether there is one.
func (o *Odometer) Next() bool {
	o.digits = o.digits[:o.at] // what the last run did not come to is no choice of it
	o.at = 0
	for n := len(o.digits); n > 0; n-- {
		if d := &o.digits[n-1]; d.value+1 < d.values {
			d.value++
			o.digits = o.digits[:n]
			return true
		}
	}
	return false
}

// Width is how many choices the present run has come to.
func (o *Odometer) Width() int { return o.at }

func (o *Odometer) turn(values int64) int64 {
	if o.at == len(o.digits) {
		o.digits = append(o.digits, digit{0, values})
	}
	o.at++
	return o.digits[o.at-1].value
}

// Pick returns the indexes one after the other that can be picked.
func (o *Odometer) Pick(id ID, weights []uint32) int {
	if !o.Counts(id.Site) {
		return o.Inner.Pick(id, weights)
	}
	possible := []int{0}
	for i := 1; i < len(weights); i++ {
		if weights[i] > 0 {
			possible = append(possible, i)
		}
	}
	return possible[o.turn(int64(len(possible)))]
}

// Between returns the values one after the other.
func (o *Odometer) Between(id ID, lo, hi int64) int64 {
	if !o.Counts(id.Site) {
		return o.Inner.Between(id, lo, hi)
	}
	return lo + o.turn(max(hi-lo, 0)+1)
}
