package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpeedShowsTheFigures draws speed.svg from the present docs/speed.json and compares.
func TestSpeedShowsTheFigures(t *testing.T) {
	t.Parallel()
	speeds, err := readSpeeds("../../docs/speed.json")
	require.NoError(t, err)
	require.Len(t, speeds, 8)
	want, err := drawSpeeds(speeds)
	require.NoError(t, err)
	got, err := os.ReadFile("../../docs/img/speed.svg")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run: make pictures")
}

// TestFlashsaleShowsBothStrategies draws flashsale.svg from the results that it keeps, and compares: it oversells without a
// lock, and is exact with one.
func TestFlashsaleShowsBothStrategies(t *testing.T) {
	t.Parallel()
	got, err := os.ReadFile("../../docs/img/flashsale.svg")
	require.NoError(t, err)
	results, err := resultsOf(got)
	require.NoError(t, err)
	require.Len(t, results, 2)
	require.Equal(t, "none", results[0].Strategy)
	require.Positive(t, results[0].Oversold)
	require.Equal(t, "lock", results[1].Strategy)
	require.Zero(t, results[1].Oversold)
	require.Equal(t, results[1].Stock, results[1].Sold)
	want, err := drawSales(results)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run: make pictures")
}
