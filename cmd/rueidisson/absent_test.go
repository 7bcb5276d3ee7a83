package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// TestAbsentIsAnObject: what ends with 1 prints an object with --json, and ends with 1 without it, too.
func TestAbsentIsAnObject(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=" + rueidissontest.NewServer(t).URL()}
	for _, setup := range []string{"job add j a --unique u", "latch set armed 1", "limit set l --rate 1/h", "limit take l"} {
		require.Zero(t, runHere(t, env, strings.Fields(setup)...).code, setup)
	}
	for args, want := range map[string]string{
		"map get x k":              `{"name":"x","key":"k","found":false}`,
		"map get x k --cache":      `{"name":"x","key":"k","found":false}`,
		"map rm x k":               `{"name":"x","removed":0}`,
		"queue take x":             `{"name":"x","found":false}`,
		"queue take x --delayed":   `{"name":"x","found":false}`,
		"queue peek x":             `{"name":"x","found":false}`,
		"queue drain x":            `{"name":"x","found":false}`,
		"job find j 7":             `{"name":"j","id":7,"found":false,`,
		"job result j 7":           `{"name":"j","id":7,"found":false,`,
		"job reschedule j 7 --now": `{"name":"j","id":7,"found":false,`,
		"job add j a --unique u":   `{"name":"j","added":false,`,
		"job rm j 7":               `{"name":"j","removed":0}`,
		"job cancel j 7":           `{"name":"j","cancelled":0}`,
		"job redrive j":            `{"name":"j","redriven":0}`,
		"job purge j":              `{"name":"j","purged":0}`,
		"latch rm x":               `{"name":"x","removed":false}`,
		"latch set armed 2":        `{"name":"armed","count":1,"armed":false}`,
		"sem rm x":                 `{"name":"x","removed":false}`,
		"permit rm x":              `{"name":"x","removed":false}`,
		"barrier reset x":          `{"name":"x","reset":false}`,
		"stream redrive x g":       `{"name":"x","group":"g","redriven":0}`,
		"topic purge x d":          `{"name":"x","durable":"d","purged":0}`,
		"limit take l":             `{"name":"l","allowed":false,`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, exit.Refused, runHere(t, env, strings.Fields(args)...).code)
			got := runHere(t, env, append(strings.Fields(args), "--json")...)
			assert.Equal(t, exit.Refused, got.code)
			assert.Empty(t, got.errors)
			assert.True(t, strings.HasPrefix(got.out, want), got.out)
			assert.NoError(t, json.Unmarshal([]byte(got.out), &map[string]any{}))
		})
	}
}
