package main

import (
	"fmt"
	"io"
	"math"
)

// report says what became of it.
func (g *game) report(out io.Writer) {
	fmt.Fprintf(out, "\n%d visits, of which the feeders told %d; %d feeders were killed; server: %s\n\n", g.count, g.told, g.kills, g.server)
	for i, e := range g.top {
		fmt.Fprintf(out, "%d  %-10s %.0f\n", i+1, e.Value, e.Score)
	}
	fmt.Fprintf(out, "\nThe exact set has %d visitors, and the count of different ones says about %d.\n", g.members, g.approx)
	fmt.Fprintf(out, "The filter missed %d of them. Of %d other names it found %d, %.3f %%: it was made for %.3f %%.\n",
		g.missed, g.others, g.found, 100*float64(g.found)/float64(g.others), 100*g.p)
}

// mostFound returns how many of the other names the filter may find: the part p, what chance adds to it, and for each kill a
// visitor who came to the filter but not to the set any more.
func (g *game) mostFound() int64 {
	want := g.p * float64(g.others)
	return int64(math.Ceil(want+4*math.Sqrt(want*(1-g.p)))) + int64(g.kills) + feeders
}

// mostOff is by how much the count of different visitors may be wrong: 5 of its standard errors.
const mostOff = 0.0405

// problems returns what went wrong.
func (g *game) problems() (all []string) {
	if g.members == 0 {
		all = append(all, "nobody has visited")
	}
	if g.missed > 0 {
		all = append(all, fmt.Sprintf("the filter does not find %d members of the set", g.missed))
	}
	if most := g.mostFound(); g.found > most {
		all = append(all, fmt.Sprintf("the filter finds %d of %d other names: %d at most are the part %v", g.found, g.others, most, g.p))
	}
	if off := math.Abs(float64(g.approx - g.members)); off > mostOff*float64(g.members)+float64(g.kills)+feeders {
		all = append(all, fmt.Sprintf("about %d different visitors are not %d", g.approx, g.members))
	}
	if g.count < int64(g.told) {
		all = append(all, fmt.Sprintf("%d visits were told, and %d counted", g.told, g.count))
	}
	if g.kill > 0 && g.last > 2*g.kill && g.kills == 0 {
		all = append(all, "no feeder was killed")
	}
	return all
}
