package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// perMinute is what "5/m" looks like in Redisson's log.
var perMinute = redissonlimiter.Rate{Permits: 5, Interval: time.Minute}

func TestLimitOfRedissonOnALogThatProgramsUse(t *testing.T) {
	t.Parallel()
	url, name := "redis://"+redistest.Shared(t).Addr(), redistest.Name(t)
	l := openAt(t, url).RedissonRateLimiter(name)
	on := func(args string) said {
		return runHere(t, []string{envRedis + "=" + url}, strings.Fields("limit --redisson "+strings.Replace(args, "NAME", name, 1))...)
	}
	assert.Equal(t, said{out: name + ": 5/m\nat most 5 per minute: 5 in any second, 5 in any minute, 300 in any hour, 7,200 in any day\n"},
		on("set NAME --rate 5/m --if-absent"))
	stored, err := l.Rate(t.Context())
	require.NoError(t, err)
	assert.Equal(t, perMinute, stored)
	ok, err := l.AllowN(t.Context(), 3)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, said{out: "granted, 0 of 5 left\n"}, on("take NAME 2"))
	assert.Equal(t, exit.Refused, on("take NAME").code)
	ok, err = l.Allow(t.Context())
	require.NoError(t, err)
	assert.False(t, ok)
	require.NoError(t, l.Release(t.Context(), 5))
	assert.Equal(t, said{out: "granted, 4 of 5 left\n"}, on("take NAME"))
	assert.Equal(t, said{out: name + ": removed\n"}, on("rm NAME"))
	_, err = l.Rate(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	assert.Equal(t, said{exit.Refused, name + ": there was none\n", ""}, on("rm NAME"))
}

func TestLimitOfRedisson(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --redisson --rate 3/s")
	assert.Equal(t, "granted, 1 of 3 left\n", o.says("take mails 2 --redisson"))
	o.Forward(400 * time.Millisecond)
	assert.Equal(t, "granted, 0 of 3 left\n", o.says("take mails --redisson"))
	refused := o.run("take mails --redisson")
	assert.Equal(t, exit.Refused, refused.code)
	assert.Regexp(t, `^refused, retry after 60[0-9]ms\n$`, refused.out)
	assert.Regexp(t, `^name       mails\nrate       3/s\nremaining  0 of 3\ngranted    in 60[0-9]ms\nfull       in (1s|1\.00[0-9]s)\n$`,
		o.says("peek mails --redisson"))
	o.Forward(650 * time.Millisecond)
	assert.Contains(t, o.says("peek mails --redisson"), "remaining  2 of 3\n", "what is older than the interval, and no more")
}

func TestLimitOfRedissonInJSON(t *testing.T) {
	o := newLimits(t)
	const rate = `"rate":{"text":"5/m per client","n":5,"per_ns":60000000000,"burst":5,"per_client":true}`
	assert.JSONEq(t, `{"name":"x","set":true,`+rate+`,"keep_alive_ms":3600000,"admits":[
			{"window":"second","window_ns":1000000000,"at_most":5},
			{"window":"minute","window_ns":60000000000,"at_most":5},
			{"window":"hour","window_ns":3600000000000,"at_most":300},
			{"window":"day","window_ns":86400000000000,"at_most":7200}]}`,
		o.says("set x --redisson --rate 5/m --per-client --keep-alive 1h --json"))
	assert.Equal(t, "x: 5/m per client\nat most 5 per minute of each process: 5 in any second, 5 in any minute, 300 in any hour, 7,200 in any day\n"+
		"forgotten 1h0m0s after its last use\n", o.says("show x --redisson"))
	got := o.run("take x --redisson")
	assert.Equal(t, exit.NoRate, got.code)
	assert.Contains(t, got.errors, "in each process by itself")

	o.says("set x --redisson --rate 5/m")
	var told takenJSON
	require.NoError(t, json.Unmarshal([]byte(o.says("take x --redisson --json 2")), &told))
	assert.Equal(t, rateToldJSON{"5/m", 5, int64(time.Minute), 5, false}, told.Rate)
	assert.EqualValues(t, 3, told.Remaining)
}

func TestLimitSetOfRedissonKeepsWhatWasTakenUnlessItIsToldOtherwise(t *testing.T) {
	o := newLimits(t)
	o.says("set x --redisson --rate 5/h")
	o.says("take x --redisson 3")
	o.says("set x --redisson --rate 4/h")
	assert.Equal(t, "granted, 0 of 4 left\n", o.says("take x --redisson"))
	assert.True(t, strings.HasPrefix(o.says("set x --redisson --rate 9/h --if-absent"), "x: 4/h was stored already\n"))
	o.says("set x --redisson --rate 4/h --reset")
	assert.Equal(t, "granted, 3 of 4 left\n", o.says("take x --redisson"))
}

func TestLimitTakeOfRedissonWaits(t *testing.T) {
	t.Parallel()
	url, name := "redis://"+redistest.Shared(t).Addr(), redistest.Name(t)
	env := []string{envRedis + "=" + url}
	require.Zero(t, runHere(t, env, "limit", "set", name, "--redisson", "--rate", "1/300ms").code)
	for range 3 {
		got := runHere(t, env, "limit", "take", name, "--redisson", "--wait", "1m")
		assert.Zero(t, got.code, got.errors)
		assert.Regexp(t, "^granted, [01] of 1 left\n$", got.out)
	}
	require.Zero(t, runHere(t, env, "limit", "set", name, "--redisson", "--rate", "1/h", "--reset").code)
	require.Zero(t, runHere(t, env, "limit", "take", name, "--redisson").code)
	got := runHere(t, env, "limit", "take", name, "--redisson", "--wait", "1m")
	assert.Equal(t, exit.Refused, got.code, got.errors)
	assert.Regexp(t, "^refused, retry after (59m|1h0m0.0)", got.out)
}

func TestWhatLimitsOfRedissonDoNotHaveIs64(t *testing.T) {
	o := newLimits(t)
	o.says("set x --redisson --rate 5/s")
	const goesWith = "--redisson goes with set, show, take, peek, watch, rm"
	for args, says := range map[string]string{
		"reset x --redisson":                           "has no reset: " + goesWith,
		"--redisson block x --for 1m":                  "has no block: " + goesWith,
		"pause x --redisson":                           "has no pause: " + goesWith,
		"resume x --redisson":                          "has no resume: " + goesWith,
		"take x --redisson --key u":                    "has no keys",
		"peek x --redisson --key=":                     "has no keys",
		"watch x --redisson --key u":                   "has no keys",
		"set x --redisson --rate 5/s --burst 10":       "has no burst",
		"set x --redisson --rate 5/s --keep-alive 1ms": "at least the interval",
		"set x --redisson --rate 5/s --keep-alive -1s": "keep-alive",
		"set x --redisson --rate 5/1us":                "whole milliseconds",
		"set x --rate 5/s --keep-alive 1h":             "goes with --redisson",
		"take x --redisson 6":                          "more than the burst: 6 permits of 5/s",
		"take x --redisson 0":                          "from 1 to",
		"--redisson":                                   "a command is needed",
	} {
		t.Run(args, func(t *testing.T) {
			got := onLimits{t, o.Server}.run(args)
			assert.Equal(t, exit.Usage, got.code)
			assert.Contains(t, got.errors, says)
			assert.Empty(t, got.out)
		})
	}
	assert.Contains(t, o.says("peek x --redisson"), "remaining  5 of 5", "nothing was taken")
	got := runHere(t, []string{envRedis + "=" + o.URL()}, "--redisson", "limit", "take", "x")
	assert.Equal(t, said{out: "granted, 4 of 5 left\n"}, got, "the flag stands anywhere")
}

func TestOneKindOfLimitIsNotTakenForTheOther(t *testing.T) {
	o := newLimits(t)
	o.says("set bucket --rate 5/s")
	o.says("set log --redisson --rate 5/s")
	for command, more := range limitWords {
		got := o.run(command + " log " + more)
		assert.Equal(t, exit.Unavailable, got.code, command)
		assert.Contains(t, got.errors, "for an RRateLimiter of Redisson's there is --redisson", command)
	}
	for _, command := range []string{"set", "show", "take", "peek", "watch", "rm"} {
		got := o.run(command + " bucket --redisson " + limitWords[command])
		assert.Equal(t, exit.Unavailable, got.code, command)
		assert.Contains(t, got.errors, ratelimiter.ErrOtherAlgorithm.Error(), command)
		assert.NotContains(t, got.errors, "there is --redisson", command)
	}
	assert.Contains(t, o.says("peek bucket"), "remaining  5 of 5")
	assert.Contains(t, o.says("peek log --redisson"), "remaining  5 of 5")
	assert.Equal(t, exit.NoRate, o.run("take nosuch --redisson").code)
}
