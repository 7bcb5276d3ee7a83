package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/page"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

const reliability = "../docs/reliability.md"

// groups of nemeses. What a server forgets in one of them is not promised, and counted.
var groups = []string{"network", "clients", "refusals", "server", "slot moves", "minority", "forgetting"}

// cell counts what rounds of an object showed under a group of nemeses.
type cell struct {
	rounds, operations, faults, chances, violations, counted, unjudged int
}

// figure is a column of the table of rounds. Of times the longest counts, and numbers are added.
type figure struct {
	name string
	time bool
	of   func(v verdict) int
}

var figures = []figure{
	{name: "rounds", of: func(verdict) int { return 1 }},
	{name: "operations", of: func(v verdict) int { return v.done }},
	{name: "holds", of: func(v verdict) int { return v.holds }},
	{name: "faults", of: func(v verdict) int { return v.faults }},
	{name: "chances", of: func(v verdict) int { return v.chances }},
	{name: "violations", of: func(v verdict) int { return len(v.violations) }},
	{name: "not promised", of: func(v verdict) int { return len(v.counted) }},
	{name: "guarded writes", of: func(v verdict) int { return v.writes }},
	{name: "not judged", of: func(v verdict) int { return v.unjudged }},
	{name: "slowest call", time: true, of: func(v verdict) int { return int(v.slowest) }},
	{name: "longest pause", time: true, of: func(v verdict) int { return int(v.pause) }},
	{name: "told after", time: true, of: func(v verdict) int { return int(v.told) }},
	{name: "longest PING", time: true, of: func(v verdict) int { return int(v.ping) }},
	{name: "stood still", time: true, of: func(v verdict) int { return int(v.still) }},
}

// tally has a number for each figure.
type tally []int

func (c tally) add(v verdict) tally {
	if c == nil {
		c = make(tally, len(figures))
	}
	for i, f := range figures {
		if n := f.of(v); f.time {
			c[i] = max(c[i], n)
		} else {
			c[i] += n
		}
	}
	return c
}

// cells returns the text of each number.
func (c tally) cells() (all []string) {
	for i, f := range figures {
		switch {
		case c == nil:
			all = append(all, "–") // no round had time
		case f.time:
			all = append(all, time.Duration(c[i]).Round(time.Millisecond).String())
		default:
			all = append(all, fmt.Sprint(c[i]))
		}
	}
	return all
}

// report adds up what the rounds and the seeds of a run show.
type report struct {
	mu     sync.Mutex
	cells  map[[2]string]cell  // by object and group
	rounds map[[2]string]tally // by topology and nemesis
	seeds  map[string]time.Duration
	shots  map[string]shot // by nemesis: the round that had most chances
}

func newReport() *report {
	return &report{cells: map[[2]string]cell{}, rounds: map[[2]string]tally{}, seeds: map[string]time.Duration{}, shots: map[string]shot{}}
}

// chances returns those of a cell so far.
func (r *report) chances(o object, group string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cells[[2]string{o.name, group}].chances
}

var shown = newReport()

func (r *report) add(topology string, o object, n nemesis, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := [2]string{o.name, n.group}
	c := r.cells[k]
	r.cells[k] = cell{
		c.rounds + 1, c.operations + v.holds + v.done, c.faults + v.faults, c.chances + v.chances, c.violations + len(v.violations),
		c.counted + len(v.counted), c.unjudged + v.unjudged,
	}
	at := [2]string{topology, n.name}
	r.rounds[at] = r.rounds[at].add(v)
	if was, is := r.shots[n.name]; !is || v.chances > was.Chances || len(v.violations) > 0 && len(was.Found) == 0 {
		r.shots[n.name] = shoot(topology, o.name, n, v)
	}
}

func (r *report) found(seed string, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seeds[seed] = after
}

// without returns the cells in which nothing could have shown, and should have.
func (r *report) without() (cells []string) {
	for name, needs := range places {
		for _, g := range needs {
			if r.cells[[2]string{name, g}].chances == 0 {
				cells = append(cells, name+" under "+g)
			}
		}
	}
	return cells
}

// write writes the parts of the page, and the pictures next to it.
func (r *report) write(path string, took time.Duration, seed uint64) error {
	verdict := r.verdict(took, seed)
	for part, text := range map[string]string{
		"verdict": verdict, "cells": r.objects(), "rounds": r.nemeses(), "seeds": r.defects(), "nemeses": faults(),
	} {
		if err := page.Write(path, part, text); err != nil {
			return err
		}
	}
	pictures, err := draw(verdict, slices.Collect(func(yield func(shot) bool) {
		for _, n := range nemeses {
			if s, is := r.shots[n.name]; is && !yield(s) {
				return
			}
		}
	}))
	if err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(path, filepath.Ext(path))+".html", pictures, 0o644)
}

// verdict returns three lines.
func (r *report) verdict(took time.Duration, seed uint64) string {
	var sum cell
	for _, c := range r.cells {
		sum = cell{
			sum.rounds + c.rounds, sum.operations + c.operations, sum.faults + c.faults, sum.chances + c.chances,
			sum.violations + c.violations, sum.counted + c.counted, sum.unjudged + c.unjudged,
		}
	}
	return fmt.Sprintf("%d violations in %d rounds: %d operations and holds under %d faults, with %d chances. %d findings are not promised: a server had forgotten something.\n"+
		"%d names were not judged, because the machine stood still. %d of %d seeds were found.\n"+
		"On %s, in %v, with seed %d, on %s; %s, %s/%s, %d processors.\n",
		sum.violations, sum.rounds, sum.operations, sum.faults, sum.chances, sum.counted, sum.unjudged, len(r.seeds), len(seeds),
		time.Now().UTC().Format("2 January 2006"), took.Round(time.Second), seed, strings.Join(versions, ", "),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// objects is the table of objects and groups of nemeses.
func (r *report) objects() string {
	rows := table("Object", groups...)
	for name := range placedNames {
		var line []string
		for _, g := range groups {
			c := r.cells[[2]string{name, g}]
			text := "–" // no round had time
			if c.rounds > 0 {
				text = fmt.Sprintf("%d of %d", c.violations, c.chances)
			}
			if c.counted > 0 {
				text += fmt.Sprintf(" (%d)", c.counted)
			}
			line = append(line, text)
		}
		rows += row(name, line...)
	}
	return rows
}

// nemeses is the table of rounds.
func (r *report) nemeses() string {
	columns := []string{"nemesis"}
	for _, f := range figures {
		columns = append(columns, f.name)
	}
	rows := table("Topology", columns...)
	for _, at := range roundNames() {
		rows += row(at[0], append([]string{at[1]}, r.rounds[at].cells()...)...)
	}
	return rows
}

// roundNames are the topologies and nemeses of the table of rounds.
func roundNames() (all [][2]string) {
	for _, at := range topologies {
		a := &arena{at: at, site: site{clock: &redistest.Clock{}}}
		for _, n := range nemeses {
			if a.meets(n) {
				all = append(all, [2]string{at.name, n.name})
			}
		}
	}
	return all
}

// defects is the table of seeds.
func (r *report) defects() string {
	rows := table("Seed", "object", "faults", "the oracle says", "found after")
	for _, s := range seeds {
		after := "not found"
		if d, is := r.seeds[s.name]; is {
			after = d.Round(100 * time.Millisecond).String()
		}
		rows += row(s.name, s.object, s.nemesis, "…"+s.says+"…", after)
	}
	return rows
}

// faults is the table of nemeses, which depends on no run.
func faults() string {
	text := table("Group", "faults")
	for _, g := range groups {
		var names []string
		for _, n := range nemeses {
			if n.group == g {
				names = append(names, n.name)
			}
		}
		text += row(g, strings.Join(names, ", "))
	}
	return text
}

func table(first string, others ...string) string {
	return row(first, others...) + "|" + strings.Repeat("---|", len(others)+1) + "\n"
}

func row(first string, others ...string) string {
	return "| " + strings.Join(slices.Insert(others, 0, first), " | ") + " |\n"
}

// TestThePageIsAboutThisCode: its rows are the objects, nemeses and seeds of this package.
func TestThePageIsAboutThisCode(t *testing.T) {
	t.Parallel()
	require.NoError(t, page.Check(reliability, "nemeses", faults(), "nemeses"))
	var rounds []string
	for _, at := range roundNames() {
		rounds = append(rounds, at[0]+" | "+at[1])
	}
	for part, names := range map[string][]string{"cells": slices.Collect(placedNames), "seeds": seedNames(), "rounds": rounds} {
		text, err := page.Read(reliability, part)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		require.Len(t, lines, len(names)+2, "run: make chaos")
		for i, name := range names {
			require.True(t, strings.HasPrefix(lines[i+2], "| "+name+" |"), "%s: %q; run: make chaos", part, lines[i+2])
		}
	}
}

func seedNames() (names []string) {
	for _, s := range seeds {
		names = append(names, s.name)
	}
	return names
}

// TestAReportIsWritten: what rounds show is in the tables.
func TestAReportIsWritten(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/page.md"
	require.NoError(t, exec.Command("cp", reliability, path).Run())
	r := newReport()
	lock, network := objects[0], nemeses[slices.IndexFunc(nemeses, func(n nemesis) bool { return n.group == "network" })]
	r.add(onSingle, lock, network, verdict{holds: 7, chances: 3, slowest: time.Second})
	r.add(onSingle, lock, network, verdict{holds: 1, chances: 2, slowest: time.Minute, violations: []string{"one"}})
	r.add(onSentinel, objects[1], network, verdict{holds: 1})
	r.found(seeds[0].name, 1234*time.Millisecond)
	require.Contains(t, r.without(), objects[1].name+" under network")
	require.NotContains(t, r.without(), lock.name+" under network")
	require.Contains(t, r.without(), lock.name+" under clients", "no round of it")
	require.Contains(t, r.without(), lock.name+", cluster under slot moves")
	require.NotContains(t, r.without(), lock.name+" under slot moves", "one server has none")
	onCluster := topologies[slices.IndexFunc(topologies, func(t topology) bool { return t.name == onCluster })]
	r.add(onCluster.name, onCluster.placed(lock), nemesis{group: "forgetting"}, verdict{chances: 4, counted: []string{"one", "two"}})
	require.NoError(t, r.write(path, time.Minute, 9))
	cells, err := page.Read(path, "cells")
	require.NoError(t, err)
	require.Contains(t, cells, "| lock | 1 of 5 | – |")
	require.Contains(t, cells, "| lock, cluster | – | – | – | – | – | – | 0 of 4 (2) |")
	all, err := page.Read(path, "verdict")
	require.NoError(t, err)
	require.Contains(t, all, "1 violations in 4 rounds: 9 operations")
	require.Equal(t, 3, strings.Count(all, "\n"), "lines of the verdict")
	rounds, err := page.Read(path, "rounds")
	require.NoError(t, err)
	require.Contains(t, rounds, "| single | "+network.name+" | 2 | 0 | 8 | 0 | 5 | 1 | 0 | 0 | 0 | 1m0s | 0s | 0s | 0s | 0s |\n")
	require.Contains(t, rounds, "| sentinel | "+network.name+" | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0s | 0s | 0s | 0s | 0s |\n")
	require.Contains(t, rounds, "| sentinel | none | –")
	pictures, err := os.ReadFile(strings.TrimSuffix(path, ".md") + ".html")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(pictures), "<svg"), "one nemesis had rounds")
	found, err := page.Read(path, "seeds")
	require.NoError(t, err)
	require.Contains(t, found, "| 1.2s |")
}
