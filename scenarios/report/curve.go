package report

import (
	"fmt"
	"math"

	"github.com/volnode/volnode/scenarios/fleet"
)

// curve is how coverage has grown, over the logarithm of the number of schedules.
type curve struct {
	Width, Height, Left, Right, Bottom, Middle int
	Says                                       string
	Points                                     [][2]int
	Xs, Ys                                     []tick
}

// newCurve returns nil if there are too few points for a curve.
func newCurve(all []fleet.Growth) *curve {
	if len(all) < 2 {
		return nil
	}
	const top = 12
	c := &curve{Width: 900, Height: 280, Left: 70, Right: 880, Bottom: 230}
	c.Middle = (c.Left + c.Right) / 2
	last := all[len(all)-1]
	c.Says = fmt.Sprintf("In %d schedules that were looked at, faults met %d different states (the curve), %d "+
		"transitions, %d decisions and %d rare "+
		"things were reached.", last.Schedules, last.Tuples, last.Transitions, last.Decisions, last.Probes)
	step := roundStep(float64(last.Tuples) / 4)
	most := math.Ceil(float64(last.Tuples)/step) * step
	y := func(n float64) int { return c.Bottom - int(n/most*float64(c.Bottom-top)) }
	x := func(n float64) int {
		return c.Left + int(math.Log(n)/math.Log(max(float64(last.Schedules), 2))*float64(c.Right-c.Left))
	}
	for n := 0.0; n <= most; n += step {
		c.Ys = append(c.Ys, tick{y(n), fmt.Sprintf("%.0f", n)})
	}
	for n := 1.0; n <= float64(last.Schedules); n *= 10 {
		c.Xs = append(c.Xs, tick{x(n), fmt.Sprintf("%.0f", n)})
	}
	for _, g := range all {
		c.Points = append(c.Points, [2]int{x(float64(max(g.Schedules, 1))), y(float64(g.Tuples))})
	}
	return c
}

// roundStep is 1, 2 or 5 times a power of ten, and not less than n and 1.
func roundStep(n float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(n, 1))))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= n {
			return times * power
		}
	}
	return 10 * power
}
