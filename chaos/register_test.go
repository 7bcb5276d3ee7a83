package chaos

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// write is a write of a guarded value, on a server that no nemesis reaches.
type write struct {
	token   int64
	outcome string // "", stale, or an error after which it may have been done
}

const stale = "stale"

// register is a value behind a fence: its state is the highest token that has written. A write is refused if its token is below
// that, and never otherwise.
var register = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, in, _ any) (bool, any) {
		highest, w := state.(int64), in.(write)
		switch {
		case w.outcome == stale:
			return w.token < highest, highest
		case w.token >= highest:
			return true, w.token
		}
		return w.outcome != "", highest // one of unknown outcome may have been refused
	},
	DescribeOperation: func(in, _ any) string { return fmt.Sprintf("%+v", in) },
}

// mostWrites bounds what is checked of a name: the rest of a longer history is left out, from the first write that would follow.
const mostWrites = 2000

// unordered returns what is wrong with the writes of each name, how many there were, and how many had an older token than one that
// had been written before.
func unordered(events []event) (found []string, writes, chances int) {
	type key struct {
		name         string
		proc, worker int
		hold         int64
	}
	of := map[string][]porcupine.Operation{}
	open := map[key]porcupine.Operation{}
	for _, e := range events {
		switch k := (key{e.Name, e.Proc, e.Worker, e.Hold}); e.Kind {
		case writing:
			open[k] = porcupine.Operation{ClientId: e.Proc*workers + e.Worker, Input: write{e.Token, "no answer"}, Call: e.At, Return: math.MaxInt64}
		case wrote:
			op := open[k]
			delete(open, k)
			op.Input = write{e.Token, e.Outcome}
			if e.Outcome == "" || e.Outcome == stale {
				op.Return = e.At
			}
			of[e.Name] = append(of[e.Name], op)
		}
	}
	for k, op := range open {
		of[k.name] = append(of[k.name], op)
	}
	for name, ops := range of {
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		ops = ops[:min(len(ops), mostWrites)]
		writes += len(ops)
		chances += olderOnes(ops)
		found = append(found, ordered(name, porcupine.CheckOperationsTimeout(register, ops, 10*time.Second), ops)...)
	}
	return found, writes, chances
}

// ordered returns what a check of writes says. One that has not ended in time is a violation, too: it may have hidden one.
func ordered(name string, result porcupine.CheckResult, ops []porcupine.Operation) []string {
	switch result {
	case porcupine.Illegal:
		return []string{name + ": a guarded value does not keep the order of tokens:\n\t" + lines(ops)}
	case porcupine.Unknown:
		return []string{name + ": the order of writes could not be checked in time"}
	}
	return nil
}

// olderOnes returns how many writes had a token below that of one that was done before they began.
func olderOnes(ops []porcupine.Operation) (n int) {
	for i, op := range ops {
		if slices.ContainsFunc(ops[:i], func(o porcupine.Operation) bool {
			w := o.Input.(write)
			return o.Return < op.Call && w.outcome == "" && w.token > op.Input.(write).token
		}) {
			n++
		}
	}
	return n
}

func lines(ops []porcupine.Operation) string {
	var all []string
	for _, op := range ops {
		all = append(all, fmt.Sprintf("%.3f to %.3f ms: client %d: %+v", float64(op.Call)/1e6, float64(op.Return)/1e6, op.ClientId, op.Input))
	}
	return strings.Join(all, "\n\t")
}
