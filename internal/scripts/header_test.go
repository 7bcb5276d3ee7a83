package scripts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseHeader(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		body string
		want Header
	}{
		"keys, arguments and several returns": {`-- take.lua: take it.
--
-- KEYS[1]  the thing
-- KEYS[2]  its channel
-- ARGV[1]  lease, ms
--
-- Returns  nil      taken
--          integer  remaining lease, ms
-- Replay   safe: the owner is fresh
return redis.call('get', KEYS[1])
`, Header{Keys: []string{"1", "2"}, Args: []string{"1"}, Replay: Safe}},
		"no arguments, unsafe": {`-- KEYS[1]  the thing
-- Returns  1
-- Replay   unsafe: it would take another's
return 1`, Header{Keys: []string{"1"}, Replay: Unsafe}},
		"any count": {`-- KEYS[i]     the i-th thing
-- ARGV[2i-1]  its owner
-- ARGV[2i]    its lease, ms
-- Returns  array
-- Replay   safe: it only grows
return {}`, Header{Keys: []string{"i"}, Args: []string{"2i-1", "2i"}, Replay: Safe}},
		"comments in the body are no header": {`-- KEYS[1]  the thing
-- Returns  1
-- Replay   unsafe: for a reason
local x = 1
-- KEYS[2]  not a header line
-- Replay   safe: not one either
return x`, Header{Keys: []string{"1"}, Replay: Unsafe}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			got, err := ParseHeader(c.body)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ body, says string }{
		"nothing":              {"", "KEYS"},
		"a script without one": {"return redis.call('get', KEYS[1])", "KEYS"},
		"no keys":              {"-- Returns  1\n-- Replay   safe: it reads\nreturn 1", "KEYS"},
		"a key without a word": {"-- KEYS[1]\n-- Returns  1\n-- Replay   safe: it reads\nreturn 1", "KEYS"},
		"no returns":           {"-- KEYS[1]  it\n-- Replay   safe: it reads\nreturn 1", "Returns"},
		"no replay":            {"-- KEYS[1]  it\n-- Returns  1\nreturn 1", "Replay"},
		"replay without a why": {"-- KEYS[1]  it\n-- Returns  1\n-- Replay   safe\nreturn 1", "Replay"},
		"replay of a third kind": {
			"-- KEYS[1]  it\n-- Returns  1\n-- Replay   perhaps: who knows\nreturn 1", "Replay",
		},
		"a header after a blank line": {
			"-- KEYS[1]  it\n\n-- Returns  1\n-- Replay   safe: it reads\nreturn 1", "Returns",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := ParseHeader(c.body)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestCheckComparesACallWithTheHeader(t *testing.T) {
	t.Parallel()
	fixed := Header{Keys: []string{"1", "2"}, Args: []string{"1", "2", "3"}}
	none := Header{Keys: []string{"1"}}
	pairs := Header{Keys: []string{"i"}, Args: []string{"2i-1", "2i"}}
	tail := Header{Keys: []string{"1", "2…"}, Args: []string{"1", "2…n"}}
	for what, c := range map[string]struct {
		header     Header
		keys, args int
		says       string // "": the call is right
	}{
		"as named":               {fixed, 2, 3, ""},
		"a key too few":          {fixed, 1, 3, "names 2 KEYS, the call passes 1"},
		"a key too many":         {fixed, 3, 3, "names 2 KEYS, the call passes 3"},
		"an argument too few":    {fixed, 2, 2, "names 3 ARGV, the call passes 2"},
		"an argument too many":   {fixed, 2, 4, "names 3 ARGV, the call passes 4"},
		"no arguments":           {none, 1, 0, ""},
		"one where none is":      {none, 1, 1, "names 0 ARGV, the call passes 1"},
		"one of any count":       {pairs, 1, 2, ""},
		"a hundred of any count": {pairs, 100, 200, ""},
		"an open end":            {tail, 5, 7, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			err := c.header.Check(c.keys, c.args)
			if c.says == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.says)
			}
		})
	}
}
