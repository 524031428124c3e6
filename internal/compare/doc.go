// Package compare sets scenarios that served the same requests side by side, with intervals on what differs.
//
//	race.go        scenarios that will serve the same requests; variants.go what they are, before they are built
//	comparison.go  the scenarios, their runs and the rows of the comparison
//	metrics.go     what is compared, of all requests; classes.go of one service class
//	rules.go       the rules of SLOs, of all that have one
//	pairs.go       the requests of two runs, paired, and the interval of their difference
//	table.go       the comparison for people; pools.go the keys on which pools agree, legend.go how differences are meant
//	why.go         why each tail looks as it does; csv.go the comparison for programs
//	page.go        the comparison as a page
//	files.go       what --out leaves
package compare
