package chaos

import (
	"flag"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/page"
)

var pagePath = flag.String("page", "", "write what a run with -for saw into this file")

const reliability = "../docs/reliability.md"

// groups of nemeses. What a server forgets in one of them is not promised, and counted.
var groups = []string{"network", "clients", "refusals", "server", "slot moves", "minority", "forgetting"}

// cell counts what rounds of an object showed under a group of nemeses.
type cell struct {
	rounds, operations, faults, chances, violations, counted, unjudged int
}

// report adds up what the rounds and the seeds of a run show.
type report struct {
	mu    sync.Mutex
	cells map[[2]string]cell // by object and group
	seeds map[string]time.Duration
}

// chances returns those of a cell so far.
func (r *report) chances(o object, group string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cells[[2]string{o.name, group}].chances
}

var shown = report{cells: map[[2]string]cell{}, seeds: map[string]time.Duration{}}

func (r *report) add(o object, n nemesis, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := [2]string{o.name, n.group}
	c := r.cells[k]
	r.cells[k] = cell{
		c.rounds + 1, c.operations + v.holds + v.done, c.faults + v.faults, c.chances + v.chances, c.violations + len(v.violations),
		c.counted + len(v.counted), c.unjudged + v.unjudged,
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

// write writes the parts of the page.
func (r *report) write(path string, took time.Duration, seed uint64) error {
	var sum cell
	rows := table("Object", groups...)
	for name := range placedNames {
		var line []string
		for _, g := range groups {
			c := r.cells[[2]string{name, g}]
			sum = cell{
				sum.rounds + c.rounds, sum.operations + c.operations, sum.faults + c.faults, sum.chances + c.chances,
				sum.violations + c.violations, sum.counted + c.counted, sum.unjudged + c.unjudged,
			}
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
	seedRows := table("Seed", "object", "faults", "found after")
	for _, s := range seeds {
		after := "not found"
		if d, is := r.seeds[s.name]; is {
			after = d.Round(100 * time.Millisecond).String()
		}
		seedRows += row(s.name, s.object, s.nemesis, after)
	}
	verdict := fmt.Sprintf("%d violations in %d rounds: %d operations and holds under %d faults, with %d chances. %d findings are not promised, since a\n"+
		"server had forgotten something. %d names were left unjudged because the machine stood still. %d of %d seeds were found.\n\nOn %s, in %v, with seed %d, on Redis 7.0, Redis 8.0 and Valkey 8.1; %s, %d processors.\n",
		sum.violations, sum.rounds, sum.operations, sum.faults, sum.chances, sum.counted, sum.unjudged, len(r.seeds), len(seeds),
		time.Now().UTC().Format("2 January 2006"), took.Round(time.Second), seed, runtime.Version(), runtime.NumCPU())
	for part, text := range map[string]string{"verdict": verdict, "cells": rows, "seeds": seedRows, "nemeses": faults()} {
		if err := page.Write(path, part, text); err != nil {
			return err
		}
	}
	return nil
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
	for part, names := range map[string][]string{"cells": slices.Collect(placedNames), "seeds": seedNames()} {
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
	r := report{cells: map[[2]string]cell{}, seeds: map[string]time.Duration{}}
	lock, network := objects[0], nemeses[slices.IndexFunc(nemeses, func(n nemesis) bool { return n.group == "network" })]
	r.add(lock, network, verdict{holds: 7, chances: 3})
	r.add(lock, network, verdict{holds: 1, chances: 2, violations: []string{"one"}})
	r.add(objects[1], network, verdict{holds: 1})
	r.found(seeds[0].name, 1234*time.Millisecond)
	require.Contains(t, r.without(), objects[1].name+" under network")
	require.NotContains(t, r.without(), lock.name+" under network")
	require.Contains(t, r.without(), lock.name+" under clients", "no round of it")
	require.Contains(t, r.without(), lock.name+", cluster under slot moves")
	require.NotContains(t, r.without(), lock.name+" under slot moves", "one server has none")
	onCluster := topologies[slices.IndexFunc(topologies, func(t topology) bool { return t.name == onCluster })]
	r.add(onCluster.placed(lock), nemesis{group: "forgetting"}, verdict{chances: 4, counted: []string{"one", "two"}})
	require.NoError(t, r.write(path, time.Minute, 9))
	cells, err := page.Read(path, "cells")
	require.NoError(t, err)
	require.Contains(t, cells, "| lock | 1 of 5 | – |")
	require.Contains(t, cells, "| lock, cluster | – | – | – | – | – | – | 0 of 4 (2) |")
	all, err := page.Read(path, "verdict")
	require.NoError(t, err)
	require.Contains(t, all, "1 violations in 4 rounds: 9 operations")
	found, err := page.Read(path, "seeds")
	require.NoError(t, err)
	require.Contains(t, found, "| 1.2s |")
}
