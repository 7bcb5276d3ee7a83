package redistest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAServerRefusesForAWhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind    Refusal
		command []string
		other   []string // what is answered meanwhile
	}{
		"memory":   {OutOfMemory, []string{"SET", "k", "v"}, []string{"GET", "k"}},
		"replicas": {NoReplicas, []string{"SET", "k", "v"}, []string{"GET", "k"}},
		"scripts":  {NoScripts, []string{"EVAL", "return 1", "0"}, []string{"SET", "k", "v"}},
		"channels": {NoChannels, []string{"PUBLISH", "k", "v"}, []string{"EVAL", "return 1", "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t)
			accept := s.Refuse(c.kind)
			_, err := s.ask(c.command...)
			require.ErrorContains(t, err, c.kind.Name+" ")
			_, err = s.ask(c.other...)
			require.NoError(t, err)
			accept()
			_, err = s.ask(c.command...)
			require.NoError(t, err)
		})
	}
}

func TestAServerPersistsForAWhile(t *testing.T) {
	t.Parallel()
	for _, version := range Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Version(version))
			s.says("SET before v")
			end := s.Persist()
			for range 2 {
				s.says("INCR n")
				s.Restart()
			}
			n, err := s.ask("GET", "n")
			require.NoError(t, err)
			require.Equal(t, "2", n)
			before, err := s.ask("GET", "before")
			require.NoError(t, err)
			require.Equal(t, "v", before)
			end()
			s.Restart()
			n, err = s.ask("GET", "n")
			require.NoError(t, err)
			require.Nil(t, n, "what is written after that is forgotten")
			s.says("INCR n")
			s.Persist()
			s.Restart()
			n, err = s.ask("GET", "n")
			require.NoError(t, err)
			require.Equal(t, "1", n, "a second time")
		})
	}
}
