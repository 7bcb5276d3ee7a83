package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

func TestARateThatIsForgotten(t *testing.T) {
	o := newLimits(t)
	const admits = "at most 5 + 5 per second: 10 in any second, 305 in any minute, 18,005 in any hour, 432,005 in any day\n"
	const forgotten = "forgotten 720h0m0s after its last use\n"
	assert.Equal(t, "mails: 5/s burst 5\n"+admits+forgotten, o.says("set mails --rate 5/s --ttl 720h"))
	assert.Equal(t, "mails: 5/s burst 5\n"+admits+forgotten, o.says("set mails --rate 5/s"), "it stays as it is stored")
	assert.Equal(t, "mails: 5/s burst 5\n"+admits+forgotten, o.says("show mails"))
	assert.Contains(t, o.says("show mails --json"), `"keep_alive_ms":2592000000`)
	assert.Contains(t, o.says("set mails --rate 5/s --if-absent --ttl 24h"), " was stored already\n"+admits+forgotten)
	assert.Contains(t, o.says("peek mails"), "forgotten  720h0m0s after its last use\n")
	assert.Contains(t, o.says("peek mails --key u --json"), `"keep_alive_ms":2592000000}`)
	assert.Equal(t, "mails  5/s burst 5, forgotten 720h0m0s after its last use\n", o.says("ls"))
	assert.Contains(t, o.says("ls --json"), `,"keep_alive_ms":2592000000}`)
	assert.Contains(t, o.says("set mails --rate 6/s"), forgotten, "another rate leaves it, too")
	o.says("pause mails")
	assert.Equal(t, "mails  6/s burst 6, paused, forgotten 720h0m0s after its last use\n", o.says("ls"))
	o.Forward(721 * time.Hour)
	o.says("show mails")
	o.says("resume mails")
	o.Forward(721 * time.Hour)
	assert.Equal(t, exit.NoRate, o.run("show mails").code)
	assert.Contains(t, o.says("set mails --rate 5/s --if-absent --ttl 24h"), "forgotten 24h0m0s")
	assert.NotContains(t, o.says("set mails --rate 5/s --ttl 0"), "forgotten")
	assert.NotContains(t, o.says("peek mails")+o.says("ls")+o.says("ls --json")+o.says("show mails --json"), "keep_alive")
	for args, says := range map[string]string{
		"set x --rate 5/s --ttl 1s":            "from 10s",
		"set x --rate 5/s --ttl -1s":           "from 10s",
		"set x --rate 5/s --ttl soon":          "ttl",
		"set x --rate 5/s --keep-alive 1h":     "--ttl",
		"set x --redisson --rate 5/s --ttl 1h": "--keep-alive",
	} {
		got := o.run(args)
		assert.Equal(t, exit.Usage, got.code, args)
		assert.Contains(t, got.errors, says, args)
	}
}
