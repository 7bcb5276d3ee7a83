// Package maps has the commands of maps and multimaps: map and multimap.
package maps
