package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// limitWords are all of them, with what else they need.
var limitWords = map[string]string{
	"set": "--rate 5/s", "show": "", "take": "", "peek": "", "watch": "--for 1ms", "reset": "",
	"block": "--for 1m", "pause": "", "resume": "", "rm": "",
	"top": "",
}

// onLimits runs limit's commands on a server whose clock stands.
type onLimits struct {
	t *testing.T
	*rueidissontest.Server
}

func newLimits(t *testing.T) onLimits {
	t.Helper()
	t.Parallel()
	return onLimits{t, rueidissontest.NewServer(t, rueidissontest.WithManualClock())}
}

func (o onLimits) run(args string) said {
	o.t.Helper()
	return runHere(o.t, []string{envRedis + "=" + o.URL()}, append([]string{"limit"}, strings.Fields(args)...)...)
}

// says runs a command that succeeds.
func (o onLimits) says(args string) string {
	o.t.Helper()
	got := o.run(args)
	require.Zero(o.t, got.code, "%s: %s", args, got.errors)
	require.Empty(o.t, got.errors)
	return got.out
}

func TestHelpOfLimit(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"limit": {"limit", "--help"}, "limit-ls": {"limit", "ls", "--help"}}
	for command := range limitWords {
		files["limit-"+command] = []string{"limit", command, "--help"}
	}
	for name, args := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runHere(t, nil, args...)
			assert.Zero(t, got.code)
			assert.Empty(t, got.errors)
			assert.Contains(t, got.out, "\nExamples:\n  rueidisson limit ")
			file := filepath.Join("testdata", "help", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got.out, "go test -update writes it anew")
		})
	}
}

func TestLimitSet(t *testing.T) {
	o := newLimits(t)
	assert.Equal(t, "mails: 5/s burst 10\n"+
		"at most 10 + 5 per second: 15 in any second, 310 in any minute, 18,010 in any hour, 432,010 in any day\n",
		o.says("set mails --rate 5/s --burst 10"))
	assert.Equal(t, "mails: 1000/d burst 1000\n"+
		"at most 1,000 + 1,000 per day: 1,000 in any second, 1,000 in any minute, 1,041 in any hour, 2,000 in any day\n",
		o.says("set mails --rate 1000/d"))
	stored, err := o.NewClient(t).RateLimiter("mails").Rate(t.Context())
	require.NoError(t, err)
	assert.Equal(t, ratelimiter.Every(1000, 24*time.Hour), stored)
	assert.JSONEq(t, `{"name":"mails","set":true,
		"rate":{"text":"1/30d burst 2 per client","n":1,"per_ns":2592000000000000,"burst":2,"per_client":true},
		"admits":[
			{"window":"second","window_ns":1000000000,"at_most":2},
			{"window":"minute","window_ns":60000000000,"at_most":2},
			{"window":"hour","window_ns":3600000000000,"at_most":2},
			{"window":"day","window_ns":86400000000000,"at_most":2},
			{"window":"30d","window_ns":2592000000000000,"at_most":3}]}`,
		o.says("set mails --rate 1/30d --burst 2 --per-client --json"))
}

func TestLimitSetIfAbsentLeavesWhatIsThere(t *testing.T) {
	o := newLimits(t)
	const admitted = "\nat most 1 + 1 per 3s: 1 in any second, 2 in any 3s, 21 in any minute, 1,201 in any hour, 28,801 in any day\n"
	assert.Equal(t, "mails: 1/3s burst 1"+admitted, o.says("set mails --rate 1/3s --if-absent"))
	assert.Equal(t, "mails: 1/3s burst 1 was stored already"+admitted, o.says("set mails --rate 9/s --if-absent"))
	var told ruleToldJSON
	require.NoError(t, json.Unmarshal([]byte(o.says("set mails --rate 9/s --if-absent --json")), &told))
	require.NotNil(t, told.Set)
	assert.False(t, *told.Set)
	assert.Equal(t, "1/3s burst 1", told.Rate.Text)
	assert.Equal(t, "mails: 1/3s burst 1"+admitted, o.says("show mails"))
	require.NoError(t, json.Unmarshal([]byte(o.says("show mails --json")), &told))
	assert.NotContains(t, o.says("show mails --json"), `"set"`)
}

func TestLimitSetKeepsWhatWasTakenUnlessItIsToldOtherwise(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 10/h")
	assert.Equal(t, "granted, 3 of 10 left\n", o.says("take mails 7"))
	o.Forward(time.Millisecond)
	o.says("set mails --rate 9/h")
	o.Forward(time.Millisecond) // a rule is never as old as the one before it
	assert.Equal(t, "granted, 1 of 9 left\n", o.says("take mails"))
	o.says("set mails --rate 9/h --reset")
	assert.Equal(t, "granted, 8 of 9 left\n", o.says("take mails"))
}

func TestLimitTake(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 5/s --burst 3")
	assert.Equal(t, "granted, 2 of 3 left\n", o.says("take mails"))
	assert.Equal(t, "granted, 0 of 3 left\n", o.says("take mails 2"))
	assert.Equal(t, said{exit.Refused, "refused, retry after 200ms\n", ""}, o.run("take mails"))
	assert.Equal(t, said{exit.Refused, "refused, retry after 600ms\n", ""}, o.run("take mails 3 --wait 500ms"), "it comes too late")
	assert.Equal(t, "granted, 2 of 3 left\n", o.says("take mails --key user:42"))
	assert.Equal(t, "granted, 1 of 3 left\n", o.says("take --key user:42 mails --wait 1h"), "it is there")
	assert.Equal(t, said{exit.Refused, "refused, retry after 400ms\n", ""}, o.run("take mails --key user:42 3"))
	o.Forward(400 * time.Millisecond)
	assert.Equal(t, "granted, 0 of 3 left\n", o.says("take mails --key user:42 3"))
}

// A rate that decides by itself has no times and no numbers to tell.
func TestLimitOfAllAndOfNothing(t *testing.T) {
	o := newLimits(t)
	assert.Equal(t, "mails: unlimited\nall that is asked for\n", o.says("set mails --rate unlimited"))
	assert.Equal(t, "mails: unlimited\nall that is asked for\n", o.says("show mails"))
	assert.Contains(t, o.says("show mails --json"), `"admits":[]`)
	assert.Equal(t, said{0, "", ""}, o.run("top mails"))
	o.says("take mails 1000000 --key user:42")
	assert.Contains(t, o.says("ls"), "mails  unlimited\n")
	assert.Contains(t, o.says("set own --rate unlimited --per-client"), "own: unlimited per client\n")
	assert.Contains(t, o.says("ls"), "own    unlimited per client\n")

	for _, rate := range []string{"0/s", "0/s --burst 3"} {
		assert.Contains(t, o.says("set mails --rate "+rate), "\nnothing\n")
		refusal := said{exit.Refused, "refused, at this rate nothing is granted\n", ""}
		assert.Equal(t, refusal, o.run("take mails"))
		assert.Equal(t, refusal, o.run("take mails --wait 1h"), "no wait brings it")
		assert.Contains(t, o.says("peek mails"), "granted    never\n")
		assert.Contains(t, o.says("watch mails --for 1ms"), "0 of 0 left, nothing is granted\n")
		assert.NotContains(t, o.says("show mails --json"), `"at_most":3`)
	}
}

func TestLimitTakeInJSON(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 2/3s --burst 3")
	const rate = `"rate":{"text":"2/3s burst 3","n":2,"per_ns":3000000000,"burst":3,"per_client":false}`
	assert.JSONEq(t, `{"name":"mails","key":"u","allowed":true,"limit":3,"remaining":1,"retry_after_ms":0,"reset_after_ms":3000,
		"n":2,"waited_ms":0,`+rate+`}`, withoutWait(t, o.says("take mails 2 --key u --json")))
	got := o.run("take mails --key u --json 3")
	assert.Equal(t, exit.Refused, got.code)
	assert.Empty(t, got.errors, "a refusal is an answer")
	assert.JSONEq(t, `{"name":"mails","key":"u","allowed":false,"limit":3,"remaining":1,"retry_after_ms":3000,"reset_after_ms":3000,
		"n":3,"waited_ms":0,`+rate+`}`, withoutWait(t, got.out))
}

// withoutWait is the object with its time, which nobody foresees, set to 0.
func withoutWait(t *testing.T, text string) string {
	t.Helper()
	var told takenJSON
	require.NoError(t, json.Unmarshal([]byte(text), &told))
	assert.GreaterOrEqual(t, told.WaitedMS, int64(0))
	told.WaitedMS = 0
	out, err := json.Marshal(told)
	require.NoError(t, err)
	return string(out)
}

func TestLimitPeek(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 5/s --burst 3")
	assert.Equal(t, "name       mails\nrate       5/s burst 3\nremaining  3 of 3\ngranted    yes\nfull       yes\n", o.says("peek mails"))
	o.says("take mails --key user:42 3")
	const empty = "name       mails\nkey        user:42\nrate       5/s burst 3\nremaining  0 of 3\ngranted    in 200ms\nfull       in 600ms\n"
	assert.Equal(t, empty, o.says("peek mails --key user:42"))
	assert.Equal(t, empty, o.says("peek mails --key user:42"), "it takes nothing")
	assert.Equal(t, `{"name":"mails","key":"user:42","allowed":false,"limit":3,"remaining":0,"retry_after_ms":200,"reset_after_ms":600,`+
		`"rate":{"text":"5/s burst 3","n":5,"per_ns":1000000000,"burst":3,"per_client":false}}`+"\n",
		o.says("peek mails --json --key user:42"))
}

func TestLimitReset(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 5/h")
	o.says("take mails 5")
	o.says("take mails 5 --key u")
	assert.Equal(t, "mails for u: full\n", o.says("reset mails --key u"))
	assert.Equal(t, "granted, 0 of 5 left\n", o.says("take mails 5 --key u"))
	assert.Equal(t, exit.Refused, o.run("take mails").code, "that of another key")
	assert.Equal(t, "mails: full\n", o.says("reset mails"))
	assert.Equal(t, "granted, 4 of 5 left\n", o.says("take mails"))
	assert.Equal(t, `{"name":"mails","key":"u","reset":true}`+"\n", o.says("reset mails --key u --json"))
}

func TestLimitBlock(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 5/s")
	assert.Equal(t, "mails for u: blocked for 10m0s\n", o.says("block mails --key u --for 10m"))
	assert.Equal(t, said{exit.Refused, "refused, retry after 10m0s\n", ""}, o.run("take mails --key u"))
	assert.Contains(t, o.says("peek mails --key u"), "granted    in 10m0s\n")
	o.says("take mails --key v")
	o.Forward(10 * time.Minute)
	o.says("take mails --key u")
	assert.Equal(t, `{"name":"mails","blocked_ms":2}`+"\n", o.says("block mails --for 1001us --json"))
	assert.Equal(t, said{exit.Refused, "refused, retry after 2ms\n", ""}, o.run("take mails"), "rounded up")
	o.says("reset mails")
	o.says("take mails")
}

func TestLimitPauseAndResume(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 5/h")
	assert.Equal(t, "mails: paused\n", o.says("pause mails"))
	assert.Equal(t, said{exit.Refused, "refused while paused, retry after 1s\n", ""}, o.run("take mails --key u"))
	assert.True(t, strings.HasPrefix(o.says("show mails"), "mails: 5/h burst 5, paused\n"))
	assert.Contains(t, o.says("show mails --json"), `"paused":true`)
	assert.Contains(t, o.says("peek mails --json"), `"paused":true`)
	assert.Contains(t, o.says("peek mails"), "granted    not while paused\n")
	assert.Equal(t, said{exit.Refused, "refused while paused, retry after 1s\n", ""}, o.run("take mails --wait 999ms"))
	assert.Equal(t, "mails: not paused\n", o.says("resume mails"))
	o.says("take mails --key u")
	assert.NotContains(t, o.says("show mails")+o.says("show mails --json"), "paused")
	assert.Equal(t, `{"name":"mails","paused":true}`+"\n", o.says("pause mails --json"))
	assert.Equal(t, `{"name":"mails","paused":false}`+"\n", o.says("resume mails --json"))
}

func TestLimitRemove(t *testing.T) {
	o := newLimits(t)
	assert.Equal(t, said{code: exit.Refused, out: "mails: there was none\n"}, o.run("rm mails"))
	o.says("set mails --rate 5/h")
	assert.Equal(t, "mails: removed\n", o.says("rm mails"))
	assert.Equal(t, exit.NoRate, o.run("show mails").code)
	assert.Equal(t, said{code: exit.Refused, out: `{"name":"mails","removed":false}` + "\n"}, o.run("rm mails --json"))
	o.says("set mails --rate 5/h")
	assert.Equal(t, `{"name":"mails","removed":true}`+"\n", o.says("rm mails --json"))
}

func TestALimitWithoutARateIs78(t *testing.T) {
	o := newLimits(t)
	for command, more := range limitWords {
		if command == "set" || command == "rm" {
			continue
		}
		got := o.run(command + " nosuch " + more)
		assert.Equal(t, exit.NoRate, got.code, command)
		assert.Contains(t, got.errors, "no rate was set", command)
		assert.Contains(t, got.errors, `see "rueidisson limit set --help"`, command)
		assert.Empty(t, got.out, command)
	}
	got := o.run("take nosuch --json")
	assert.Equal(t, said{exit.NoRate, "", `{"error":"rate limiter \"nosuch\": rate: no rate was set; see \"rueidisson limit set --help\"","exit":78}` + "\n"}, got)
}

func TestALimitThatIsPerClientCannotBeTakenFromHere(t *testing.T) {
	o := newLimits(t)
	assert.Contains(t, o.says("set mails --rate 5/s --per-client"), "at most 5 + 5 per second of each process: ")
	for _, args := range []string{"take mails", "take mails --wait 1s --key u", "peek mails", "watch mails --for 1ms", "reset mails", "block mails --for 1m"} {
		got := o.run(args)
		assert.Equal(t, exit.NoRate, got.code, args)
		assert.Contains(t, got.errors, "in each process by itself", args)
		assert.Empty(t, got.out, args)
	}
	o.says("pause mails")
	assert.Contains(t, o.says("show mails"), " per client, paused\n")
	o.says("resume mails")
	assert.NotContains(t, o.says("show mails"), "paused")
	o.says("rm mails")
}

func TestWhatLimitCannotUnderstandIs64(t *testing.T) {
	o := newLimits(t)
	o.says("set x --rate 5/s")
	for args, says := range map[string]string{
		"":                           "a command is needed",
		"x":                          `unknown command "x"`,
		"wacht x":                    `unknown command "wacht", was it watch?`,
		"set":                        "one NAME",
		"set x":                      "--rate is needed",
		"set x --rate":               "argument",
		"set x --rate 5":             "not of the form",
		"set x --rate 5/s/s":         "not of the form",
		"set x --rate 1.5/s":         "not of the form",
		"set x --rate -5/s":          "at least 0",
		"set x --rate 5/0s":          "must be positive",
		"set x --rate 5/s --burst 0": "burst of 0",
		"set x --rate 5/s --burst 9007199254740993": "the largest burst that can be counted exactly",
		"set x --rate 5/s --burst ten":              "burst",
		"set x --rate 5/s --reset --if-absent":      "exclude",
		"set x y --rate 5/s":                        "one NAME",
		"set x --rate 5/s --embedded":               "unknown flag",
		"show":                                      "one NAME",
		"show x y":                                  "one NAME",
		"take":                                      "one NAME",
		"take x 1 2":                                "one NAME",
		"take x many":                               "not a number",
		"take x 9223372036854775808":                "not a number",
		"take x 0":                                  "at least 1",
		"take x -1":                                 "read as a flag",
		"take x 6":                                  "more than the burst: 6 tokens of 5/s burst 5",
		"take x 6 --wait 1h":                        "more than the burst",
		"take x --wait -1s":                         "negative",
		"take x --wait soon":                        "wait",
		"take x --key=":                             "empty key",
		"peek":                                      "one NAME",
		"peek x --key=":                             "empty key",
		"watch":                                     "one NAME",
		"watch x --interval 0":                      "not positive",
		"watch x --for 0":                           "not positive",
		"reset":                                     "one NAME",
		"reset x --key=":                            "empty key",
		"block x":                                   "--for is needed",
		"block x --for 0":                           "from 1µs",
		"block x --for -1s":                         "from 1µs",
		"block --for 1s":                            "one NAME",
		"pause":                                     "one NAME",
		"resume":                                    "one NAME",
		"rm":                                        "one NAME",
		"rm x --key u":                              "unknown flag",
		"take x --redis http://x":                   "scheme",
		"set x --rate 5/s --burst 5 --per-client=no": "per-client",
	} {
		t.Run(args, func(t *testing.T) {
			got := onLimits{t, o.Server}.run(args)
			assert.Equal(t, exit.Usage, got.code)
			assert.Contains(t, got.errors, says)
			assert.Contains(t, got.errors, "try: rueidisson limit")
			assert.Empty(t, got.out)
		})
	}
	got := runHere(t, []string{envRedis + "=" + o.URL()}, "limit", "take", "")
	assert.Equal(t, exit.Usage, got.code)
	assert.Contains(t, got.errors, "empty name")
	assert.Contains(t, o.says("peek x"), "remaining  5 of 5", "nothing was taken")
}

func TestFlagsOfLimitStandAnywhere(t *testing.T) {
	o := newLimits(t)
	for _, args := range []string{
		"--redis URL limit set x --rate 5/h --per-client --reset",
		"--per-client limit set --redis URL x --reset --rate 5/h",
		"--rate 5/h --reset limit --per-client --redis=URL set x",
		"limit --redis URL --rate=5/h --reset --per-client set x",
		"limit set --per-client --reset --rate 5/h x --redis URL",
	} {
		got := runHere(t, nil, strings.Fields(strings.ReplaceAll(args, "URL", o.URL()))...)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
		assert.True(t, strings.HasPrefix(got.out, "x: 5/h burst 5 per client\n"), "%s: %s", args, got.out)
		o.says("rm x")
	}
	o.says("set x --rate 5/h")
	for left, args := range []string{"--json limit take x 1 --wait 0", "limit --wait 1s take x --json", "--key take limit take x --json"} {
		got := runHere(t, []string{envRedis + "=" + o.URL()}, strings.Fields(args)...)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
		var told takenJSON
		require.NoError(t, json.Unmarshal([]byte(got.out), &told))
		assert.EqualValues(t, []int64{4, 3, 4}[left], told.Remaining, args)
	}
}

func TestALimitOnAServerThatIsNotThereIs69(t *testing.T) {
	t.Parallel()
	const nobody = "127.0.0.1:1"
	for command, more := range limitWords {
		got := runHere(t, []string{envRedis + "=redis://" + nobody}, strings.Fields("limit "+command+" x "+more)...)
		assert.Equal(t, exit.Unavailable, got.code, command)
		assert.Contains(t, got.errors, nobody, command)
		assert.NotContains(t, got.errors, "--help", command)
	}
}

func TestALimitOnANameThatIsUsedIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := openAt(t, "redis://"+server.Addr())
	plain, held, text := server.Client(t), redistest.Name(t), redistest.Name(t)+"-text"
	hold, err := c.Lock(held).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, plain.Do(t.Context(), plain.B().Set().Key(text).Value("v").Build()).Error())
	for command, more := range limitWords {
		for _, name := range []string{held, text} {
			got := runHere(t, []string{envRedis + "=redis://" + server.Addr()}, strings.Fields("limit "+command+" "+name+" "+more)...)
			assert.Equal(t, exit.Unavailable, got.code, command)
			assert.Contains(t, got.errors, ratelimiter.ErrOtherAlgorithm.Error(), command)
			assert.Empty(t, got.out, command)
		}
	}
	require.NoError(t, hold.Unlock(t.Context()), "the lock is unharmed")
	value, err := plain.Do(t.Context(), plain.B().Get().Key(text).Build()).ToString()
	require.NoError(t, err)
	assert.Equal(t, "v", value)
	require.NoError(t, plain.Do(t.Context(), plain.B().Del().Key(text).Build()).Error())
}

func TestLimitSharesItsBucketsWithPrograms(t *testing.T) {
	t.Parallel()
	url, name := "redis://"+redistest.Shared(t).Addr(), redistest.Name(t)
	l := openAt(t, url).RateLimiter(name)
	env := []string{envRedis + "=" + url}
	require.Zero(t, runHere(t, env, "limit", "set", name, "--rate", "4/h").code)
	ok, err := l.For("user:42").AllowN(t.Context(), 3)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, said{out: "granted, 0 of 4 left\n"}, runHere(t, env, "limit", "take", name, "--key", "user:42"))
	ok, err = l.For("user:42").Allow(t.Context())
	require.NoError(t, err)
	assert.False(t, ok)
	require.Zero(t, runHere(t, env, "limit", "reset", name, "--key", "user:42").code)
	ok, err = l.For("user:42").Allow(t.Context())
	require.NoError(t, err)
	assert.True(t, ok)
	require.Zero(t, runHere(t, env, "limit", "rm", name).code)
	_, err = l.Rate(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
}
