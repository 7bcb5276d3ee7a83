package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlagsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"-stock 0 is below 1", []string{"-stock", "0"}},
		{"-buyers -1 is not between", []string{"-buyers", "-1"}},
		{"-buyers 1000001 is not between", []string{"-buyers", "1000001"}},
		{"-procs 0 is not between", []string{"-procs", "0"}},
		{"-procs 65 is not between", []string{"-procs", "65"}},
		{"-think -1s is negative", []string{"-think", "-1s"}},
		{`invalid value "soon"`, []string{"-think", "soon"}},
		{`there is no -strategy "hope"`, []string{"-strategy", "hope"}},
		{"not -strategy none", []string{"-strategy", "none", "-kill"}},
		{"not -strategy semaphore", []string{"-strategy", "semaphore", "-kill"}},
		{"at least -procs 2", []string{"-procs", "1", "-kill"}},
		{`what is "lock"?`, []string{"lock"}},
		{"not defined: -sell", []string{"-sell"}},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			assert.Equal(t, exitUsage, run(c.args, &out, &errs))
			assert.Empty(t, out.String())
			assert.Contains(t, errs.String(), c.says)
			assert.Contains(t, errs.String(), "Usage of flashsale:")
		})
	}
}

func TestHelpNamesEveryStrategy(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	assert.Equal(t, 0, run([]string{"-h"}, &out, &errs))
	for _, s := range strategies {
		assert.Contains(t, errs.String(), s.help)
	}
}

func TestEveryBuyerIsServedBySomeProcess(t *testing.T) {
	t.Parallel()
	for _, s := range []settings{{buyers: 10, procs: 3}, {buyers: 2, procs: 5}, {buyers: 8, procs: 4}} {
		sum := 0
		for n := range s.procs {
			sum += s.share(n)
		}
		require.Equal(t, s.buyers, sum)
		require.Positive(t, s.share(victim))
	}
}
