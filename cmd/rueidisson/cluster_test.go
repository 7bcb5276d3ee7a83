package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/semaphore"
	"github.com/rueidisson/rueidisson/stream"
)

// TestObjectsOnACluster: ls finds objects on all masters, each once, and info and rm reach them.
func TestObjectsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	address := "redis://" + cluster.Addrs()[0]
	env := []string{envRedis + "=" + address}
	c, err := rueidisson.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(t.Context())) })

	const each = 12
	var held []*semaphore.Permit
	defer func() {
		for _, permit := range held {
			_ = permit.Release(t.Context()) // some are removed
		}
	}()
	nouns := map[string]func(name string) error{
		"latch": func(name string) error { _, err := c.Latch(name).TrySetCount(t.Context(), 2); return err },
		"sem":   func(name string) error { return c.Semaphore(name).SetPermits(t.Context(), 2) },
		"permit": func(name string) error {
			if err := c.PermitSemaphore(name).SetPermits(t.Context(), 2); err != nil {
				return err
			}
			permit, err := c.PermitSemaphore(name).Acquire(t.Context())
			held = append(held, permit)
			return err
		},
		"barrier": func(name string) error { _, err := c.Barrier(name, 1).Await(t.Context()); return err },
		"election": func(name string) error {
			term, err := c.Election(name).Campaign(t.Context(), "v")
			if err != nil {
				return err
			}
			return term.Resign(t.Context())
		},
		"multimap": func(name string) error {
			got := runHere(t, env, "multimap", "put", name, "k", "v", "--set")
			if got.code != 0 {
				return fmt.Errorf("%s", got.errors)
			}
			return nil
		},
		"stream": func(name string) error {
			_, err := stream.New[string, string](c, name).Add(t.Context(), map[string]string{"f": "v"})
			return err
		},
		"limit": func(name string) error {
			got := runHere(t, env, "limit", "set", name, "--rate", "5/s")
			if got.code != 0 {
				return fmt.Errorf("%s", got.errors)
			}
			return nil
		},
	}
	// Other objects are in nobody's list.
	check(t, env, []call{
		{"map put a-map k v", "", 0}, {"map put sharded k v --sharded --shards 5", "", 0}, {"queue add a-queue v", "1\n", 0},
		{"queue add a-delayed v --delayed --delay 1h", "1\n", 0}, {"lock a-lock --fenced -- true", "", 0},
	})
	_, err = reliable.New[string](c, "a-job").Add(t.Context(), "b")
	require.NoError(t, err)

	names := map[string][]string{}
	for noun, makes := range nouns {
		masters := map[int]bool{}
		for i := range each {
			name := fmt.Sprintf("%d%c-%s", i, 'a'+i, noun)
			if i%2 == 1 {
				name = "app:" + name
			}
			if i%2 == 1 && noun != "latch" { // whose name has no braces on a cluster
				name = fmt.Sprintf("app:{%d%c-%s}", i, 'a'+i, noun)
			}
			require.NoError(t, makes(name), name)
			names[noun] = append(names[noun], name)
			masters[redistest.Slot(name)*3/16384] = true
		}
		require.Len(t, masters, 3, "%s: the names are to be on all masters", noun)
		slices.Sort(names[noun])
	}
	for noun, want := range names {
		for _, from := range cluster.Addrs() { // a replica tells of the masters, too
			got := runHere(t, []string{envRedis + "=redis://" + from}, noun, "ls")
			require.Equal(t, 0, got.code, "%s: %s", noun, got.errors)
			require.Empty(t, got.errors)
			var listed []string
			for line := range strings.Lines(got.out) {
				listed = append(listed, strings.Fields(line)[0])
			}
			slices.Sort(listed)
			require.Equal(t, want, listed, "%s ls", noun)
		}
		got := runHere(t, env, noun, "ls", "app:*")
		require.Equal(t, each/2, strings.Count(got.out, "\n"), "%s: %s", noun, got.out)
		for i, name := range want {
			info := map[bool]string{true: "show", false: "info"}[noun == "limit"]
			got = runHere(t, env, noun, info, name, "--json")
			require.Zero(t, got.code, "%s info %s: %s", noun, name, got.errors)
			if i > 1 {
				continue
			}
			got = runHere(t, env, noun, "rm", name)
			require.Equal(t, said{out: name + ": removed\n"}, got, noun)
		}
		require.Equal(t, each-2, strings.Count(runHere(t, env, noun, "ls").out, "\n"), noun)
	}
	check(t, env, []call{
		{"map info sharded --json", `{"name":"sharded","kind":"sharded map","held":false,"shards":5,"entries":1,"remaining_ms":-1}` + "\n", 0},
		{"map ls sharded --sharded", "k\tv\n", 0},
		{"map ls --sharded", "sharded\n", 0},
		{"map rm sharded --all", "sharded: removed\n", 0},
		{"map rm a-map --all", "a-map: removed\n", 0},
		{"queue rm a-queue", "a-queue: removed\n", 0},
		{"queue rm a-delayed", "a-delayed: removed\n", 0},
	})
	var keys []string
	for _, node := range cluster.Nodes()[:3] {
		client := node.Client(t, func(o *rueidis.ClientOption) { o.ForceSingleClient = true })
		for _, pattern := range []string{"*sharded*", "*a-map*", "*a-queue*", "*delayed*"} {
			left, err := client.Do(t.Context(), client.B().Keys().Pattern(pattern).Build()).AsStrSlice()
			require.NoError(t, err)
			keys = append(keys, left...)
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, "rueidisson_lane:") }) // of the requests
	require.Empty(t, keys)
}
