"""Raw data sets: files to byte images and labels. They know no task."""
