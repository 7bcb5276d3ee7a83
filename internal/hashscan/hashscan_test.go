package hashscan

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// walked takes a walk through pages, and returns the cursors that it has asked for.
func walked(t *testing.T, pages []Page, servers []string) (cursors []string) {
	t.Helper()
	w := Begin()
	for {
		var err error
		w, err = w.Step(Config{Page: DefaultPage}, func(a Ask) (Page, error) {
			cursors = append(cursors, a.Cursor)
			p := pages[0]
			pages = pages[1:]
			return p, nil
		}, func() (string, error) {
			s := servers[0]
			servers = servers[1:]
			return s, nil
		})
		require.NoError(t, err)
		if w.Over() {
			require.Empty(t, pages)
			require.Empty(t, servers)
			return cursors
		}
	}
}

func TestWalkBeginsAnewOnAnotherServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages   []Page
		servers []string // of pages that do not say
		want    []string
	}{
		"all in one":           {[]Page{{Next: "0"}}, nil, []string{"0"}},
		"one server":           {[]Page{{Next: "5", Server: "a"}, {Next: "0", Server: "a"}}, nil, []string{"0", "5"}},
		"another server":       {[]Page{{Next: "5", Server: "a"}, {Next: "7", Server: "b"}, {Next: "3", Server: "b"}, {Next: "0", Server: "b"}}, nil, []string{"0", "5", "0", "3"}},
		"a page does not say":  {[]Page{{Next: "5", Server: "a"}, {Next: "0"}}, []string{"a"}, []string{"0", "5"}},
		"the first does not":   {[]Page{{Next: "5"}, {Next: "6", Server: "a"}, {Next: "0", Server: "a"}}, []string{"a"}, []string{"0", "0", "6"}},
		"a last page of other": {[]Page{{Next: "5", Server: "a"}, {Next: "0", Server: "b"}, {Next: "0", Server: "b"}}, nil, []string{"0", "5", "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, walked(t, c.pages, c.servers))
		})
	}
}

func TestWalkEndsWithAnError(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	_, err := Begin().Step(Config{}, func(Ask) (Page, error) { return Page{}, failed }, nil)
	require.ErrorIs(t, err, failed)
	_, err = Begin().Step(Config{}, func(Ask) (Page, error) { return Page{Next: "5"}, nil }, func() (string, error) { return "", failed })
	require.ErrorIs(t, err, failed)
}

func TestPageGrowsUpToItsBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   Page
		most int
		want int
	}{
		"nothing is known":  {Page{}, 500, 4},
		"small fields":      {Page{Passed: 10, Bytes: 100}, 500, 40},
		"up to the page":    {Page{Passed: 400, Bytes: 100}, 500, 500},
		"large fields":      {Page{Passed: 10, Bytes: 10 * 100_000}, 500, 10},
		"one that is large": {Page{Passed: 1, Bytes: 2 * MostBytes}, 500, 1},
	} {
		require.Equal(t, c.want, c.of.Count(Config{Page: c.most}), name)
	}
}
