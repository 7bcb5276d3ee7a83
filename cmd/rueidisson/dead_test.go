package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/rueidissontest"
	"github.com/rueidisson/rueidisson/stream"
	"github.com/rueidisson/rueidisson/topic"
)

func TestHelpOfStream(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"stream": {"stream", "--help"}}
	for _, command := range []string{"dead", "redrive", "purge"} {
		files["stream-"+command] = []string{"stream", command, "--help"}
	}
	for name, args := range files {
		got := runHere(t, nil, args...)
		assert.Zero(t, got.code)
		file := filepath.Join("testdata", "help", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.out, "go test -update writes it anew")
	}
}

// TestWhatGroupsAndDurableNamesHavePutAside is shown, redriven and purged.
func TestWhatGroupsAndDurableNamesHavePutAside(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	do := func(code int, args string) said {
		t.Helper()
		got := runHere(t, []string{envRedis + "=" + server.URL()}, strings.Fields(args)...)
		require.Equal(t, code, got.code, "%s: %s", args, got.errors)
		return got
	}
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	s := stream.New[string, int](c, "s")
	g := s.Group("billing")
	_, err = g.Create(ctx, stream.FromStart)
	require.NoError(t, err)
	d := topic.NewReliable[int](c, "t", topic.WithMaxLength(100)).Durable("billing")
	sub, err := d.Listen(ctx)
	require.NoError(t, err)
	defer sub.Close()
	why := errors.New("no\tcustomer")
	bury := map[string]func(v int){
		"stream": func(v int) {
			if v >= 0 {
				_, err := s.Add(ctx, map[string]int{"order": v, "n": 1})
				require.NoError(t, err)
			}
			for m, err := range g.Messages(ctx, "c") {
				require.NoError(t, err)
				require.NoError(t, m.Bury(ctx, why))
				break
			}
		},
		"topic": func(v int) {
			if v >= 0 {
				_, err := topic.NewReliable[int](c, "t").Publish(ctx, v)
				require.NoError(t, err)
			}
			for m, err := range sub.Deliveries(ctx) {
				require.NoError(t, err)
				require.NoError(t, m.Bury(ctx, why))
				break
			}
		},
	}
	for kind, of := range map[string]struct{ by, content, inJSON string }{
		"stream": {"group", "n=1\torder=42", `"fields":{"n":1,"order":42}`},
		"topic":  {"durable", "42", `"message":42`},
	} {
		name := " " + kind[:1] + " billing"
		require.Empty(t, do(0, kind+" dead"+name).out)
		require.Equal(t, "0\n", do(1, kind+" redrive"+name).out)
		require.Equal(t, "0\n", do(1, kind+" purge"+name).out)
		bury[kind](42)
		id, rest, _ := strings.Cut(do(0, kind+" dead"+name).out, "\t")
		require.Equal(t, "1\t\"no\\tcustomer\"\t"+of.content+"\n", rest)
		got := do(0, kind+" dead --json"+name).out
		require.Contains(t, got, `{"id":"`+id+`","attempts":1,"cause":"no\tcustomer","when":"`)
		require.Contains(t, got, of.inJSON)
		require.Contains(t, do(exit.Unavailable, kind+" dead --codec json"+name).errors, id)
		require.Equal(t, `{"name":"`+kind[:1]+`","`+of.by+`":"billing","redriven":1}`+"\n", do(0, kind+" redrive --json"+name).out)
		bury[kind](-1)
		require.Equal(t, id, strings.Split(do(0, kind+" dead"+name).out, "\t")[0])
		require.Equal(t, "1\n", do(0, kind+" purge"+name).out)
		require.Empty(t, do(0, kind+" dead"+name).out)
		do(exit.Usage, kind+" purge "+kind)
		do(exit.Usage, kind+" dead")
		do(exit.Usage, kind+" dead --codec xml"+name)
	}
	do(exit.Usage, "topic dead --sharded t billing")
	do(exit.Usage, "stream")
	do(exit.Usage, "stream ded s billing")
}
